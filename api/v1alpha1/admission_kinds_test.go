package v1alpha1_test

var otherRules = []ruleCase{
	{
		kind: "RelayIdentity", path: "spec", message: "slack settings are for platform slack",
		accept: []change{text("spec.platform", "discord"), remove("spec.slack")},
		refuse: []refusal{refused("spec.slack", text("spec.platform", "discord"))},
	},
	{
		kind: "RelayIdentity", path: "spec.botID", message: "botID cannot be changed", update: true,
		refuse: []refusal{refused("spec.botID", text("spec.botID", "B2"))},
	},
	{
		kind: "RelayIdentity", path: "spec.platform", message: "platform cannot be changed", update: true,
		from:   []change{remove("spec.slack")},
		refuse: []refusal{refused("spec.platform", text("spec.platform", "discord"))},
	},
	{
		kind: "MetricsConsent", path: "spec", message: "send needs collect",
		accept: []change{set("spec.collect", "true"), set("spec.send", "false")},
		refuse: []refusal{refused("spec.send", set("spec.collect", "false")), refused("spec.send", remove("spec.collect"))},
	},
	{
		kind: "MetricsConsent", path: "spec.endpoint", message: "endpoint must be https",
		accept: []change{text("spec.endpoint", "http://localhost:8080/x")},
		refuse: []refusal{
			refused("spec.endpoint", text("spec.endpoint", "http://metrics.example.com")),
			refused("spec.endpoint", text("spec.endpoint", "metrics")),
			refused("spec.endpoint", text("spec.endpoint", "http://localhost@evil.example.com/")),
		},
	},
	{
		kind: "MetricsConsent", path: "spec.profileRef", message: "profileRef cannot be changed", update: true,
		refuse: []refusal{refused("spec.profileRef", text("spec.profileRef.name", "bob"))},
	},
	{
		kind: "Schedule", path: "spec.profileRef", message: "profileRef cannot be changed", update: true,
		accept: []change{text("spec.prompt", "Something else")},
		refuse: []refusal{refused("spec.profileRef", text("spec.profileRef.name", "bob"))},
	},
}
