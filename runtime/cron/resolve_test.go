package cron

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseDeliverC220(t *testing.T) {
	for text, want := range map[Deliver][]TargetToken{
		"":                      {{Kind: "local"}},
		" , ":                   {{Kind: "local"}},
		"origin, all":           {{Kind: "origin"}, {Kind: "all"}},
		"Slack:C1:1700.5":       {{Kind: "slack", Chat: "C1", Thread: "1700.5"}},
		"discord:#general":      {{Kind: "discord", Chat: "#general"}},
		"bot-chat,bot-chat:ops": {{Kind: "bot-chat"}, {Kind: "bot-chat", Chat: "ops"}},
		"telegram:-100123":      {{Kind: "telegram", Chat: "-100123"}},
	} {
		got, err := ParseDeliver(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, text := range []Deliver{"slack:", "local:x", "all:x", "?", "#general", ":c"} {
		if got, err := ParseDeliver(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestResolve(t *testing.T) {
	d := Directory{
		Platforms:   []string{"telegram", "slack", "discord"},
		Homes:       map[string]Chat{"telegram": {"T0", ""}, "slack": {"C0", "77"}},
		RequestOnly: []string{"api"},
	}
	telegram, slackHome, slackOther := &Origin{Platform: "telegram", ChatID: "T0"}, &Origin{Platform: "slack", ChatID: "C0", ThreadID: "5"}, &Origin{Platform: "slack", ChatID: "C9", ThreadID: "5"}
	for _, c := range []struct {
		id     string
		text   Deliver
		origin *Origin
		dir    Directory
		want   []Target
		fails  string
	}{
		{"T-194 local", "local", telegram, d, nil, ""},
		{"T-194 origin unknown, no homes", "origin", nil, Directory{Platforms: []string{"slack"}}, nil, ""},
		{"T-194 unknown platform", "foo", nil, d, nil, "no platform \"foo\""},
		{"C-221 origin unknown: the first home in order", "origin", nil, d, []Target{{"telegram", "T0", "", FromHome}}, ""},
		{"C-226 request-only origin is none", "origin", &Origin{Platform: "api", ChatID: "x"}, d, []Target{{"telegram", "T0", "", FromHome}}, ""},
		{"T-188", "origin,all", telegram, d, []Target{{"telegram", "T0", "", FromOrigin}, {"slack", "C0", "77", FromBroadcast}}, ""},
		{"C-221 broadcast first, origin stronger", "all,origin", telegram, d, []Target{{"telegram", "T0", "", FromOrigin}, {"slack", "C0", "77", FromBroadcast}}, ""},
		{"T-191 origin in the home chat", "origin", slackHome, d, []Target{{"slack", "C0", "77", FromOrigin}}, ""},
		{"T-192 origin elsewhere", "origin", slackOther, d, []Target{{"slack", "C9", "5", FromOrigin}}, ""},
		{"C-223 thread of the creating message", "origin", &Origin{Platform: "slack", ChatID: "C9", ThreadID: "5", MessageID: "5"}, d, []Target{{"slack", "C9", "", FromOrigin}}, ""},
		{"C-221 platform without home is the origin's", "discord", &Origin{Platform: "discord", ChatID: "D1"}, d, []Target{{"discord", "D1", "", FromOrigin}}, ""},
		{"C-221 platform without home", "discord", nil, d, nil, "no home channel"},
		{"explicit", "slack:C1:2,slack:C1:2", nil, d, []Target{{"slack", "C1", "2", FromExplicit}}, ""},
		{"bot chat", "bot-chat:ops", nil, d, []Target{{"bot-chat", "ops", "", FromExplicit}}, ""},
	} {
		got, err := Resolve(c.text, c.origin, c.dir)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: got %v, %v", c.id, got, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.id, err, diff)
		}
	}
}

func TestCheckTargets(t *testing.T) {
	relayed := Directory{Platforms: []string{"slack"}}
	if err := CheckTargets("slack:C1,local,origin,all,bot-chat:x", relayed); err != nil {
		t.Errorf("T-189: %v", err)
	}
	if err := CheckTargets("slack:C1", Directory{}); err == nil {
		t.Error("T-190: passes without a relay")
	}
}
