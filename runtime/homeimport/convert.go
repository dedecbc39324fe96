package homeimport

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

// Options of a conversion.
type Options struct {
	// Name of the new Profile, Namespace and Gateway its place; an empty namespace is left to whoever applies.
	Name, Namespace, Gateway string
	// Secrets puts the values of secrets into the Secrets; else they hold names with empty values.
	Secrets bool
}

// Objects are what a home becomes.
type Objects struct {
	Profile *v1alpha1.Profile
	// Secrets hold the variables of .env and the model's key; Schedules the cron jobs.
	Secrets   []*corev1.Secret
	Schedules []*v1alpha1.Schedule
	// Typed, Overlaid and Unknown are the keys of config.yaml that became fields, that went into spec.config because they
	// have no field, and those of the latter that this program has never heard of.
	Typed, Overlaid, Unknown []string
	// Notes say what was left out, changed, or needs a person.
	Notes []string
}

func (o *Objects) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// maxSoul is how long spec.identity.soul may be.
const maxSoul = 131072

// Convert decides what a home becomes. It is pure. The error is a name that a Profile cannot have.
func Convert(h Home, opts Options) (Objects, error) {
	if !validProfileName(opts.Name) {
		return Objects{}, fmt.Errorf("%q cannot be a Profile's name: choose one with --name, of at most 63 of a-z, 0-9 and '-', and not hermes, test, tmp, root or sudo", opts.Name)
	}
	c := &converter{opts: opts, home: h, config: clone(h.Config)}
	c.out.Notes = slices.Clone(h.Notes)
	c.out.Profile = &v1alpha1.Profile{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Profile"},
		ObjectMeta: c.meta(opts.Name),
	}
	c.spec = &c.out.Profile.Spec
	if opts.Gateway != "" {
		c.spec.GatewayRef.Name = opts.Gateway
	}
	c.secrets()
	c.model()
	c.tools()
	c.behaviour()
	c.mcp()
	c.soul()
	c.overlay()
	c.finishSecrets()
	c.jobs()
	for _, name := range h.Ignored {
		c.out.note("%s of the home is not taken over", name)
	}
	return c.out, nil
}

type converter struct {
	opts   Options
	home   Home
	config map[string]any // what has no field yet
	out    Objects
	spec   *v1alpha1.ProfileSpec
	env    map[string]string // variables for the tools
	keys   map[string]string // what only the runtime may see: model keys, values for MCP servers
}

func (c *converter) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: c.opts.Namespace}
}

func (c *converter) keySecret() string { return c.opts.Name + "-keys" }

// validProfileName is the rule of the CRD.
func validProfileName(name string) bool {
	if name == "" || len(name) > 63 || name[0] == '-' || slices.Contains([]string{"hermes", "test", "tmp", "root", "sudo"}, name) {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// take removes a key of config.yaml and returns its value.
func (c *converter) take(path ...string) (any, bool) {
	m := c.config
	for _, key := range path[:len(path)-1] {
		child, ok := m[key].(map[string]any)
		if !ok {
			return nil, false
		}
		m = child
	}
	last := path[len(path)-1]
	v, ok := m[last]
	if ok {
		delete(m, last)
	}
	return v, ok && v != nil
}

func (c *converter) typed(path ...string) { c.out.Typed = append(c.out.Typed, strings.Join(path, ".")) }

// takeText takes a text; another kind of value stays and goes into spec.config.
func (c *converter) takeText(path ...string) string {
	v, ok := c.take(path...)
	if !ok {
		return ""
	}
	text, isText := v.(string)
	if !isText {
		c.put(v, path...)
		return ""
	}
	c.typed(path...)
	return text
}

// takeTexts takes a list of texts, or one text.
func (c *converter) takeTexts(path ...string) []string {
	v, ok := c.take(path...)
	if !ok {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case string:
		out = []string{v}
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok && text != "" && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	default:
		c.put(v, path...)
		return nil
	}
	c.typed(path...)
	return out
}

// put gives a taken value back.
func (c *converter) put(v any, path ...string) {
	m := c.config
	for _, key := range path[:len(path)-1] {
		m = m[key].(map[string]any) // take went through them
	}
	m[path[len(path)-1]] = v
}

func (c *converter) soul() {
	switch {
	case strings.TrimSpace(c.home.Soul) == "":
	case len(c.home.Soul) > maxSoul:
		c.out.note("SOUL.md has %d bytes and spec.identity.soul takes %d: put it into a ConfigMap and name it in spec.identity.soulFrom", len(c.home.Soul), maxSoul)
	default:
		soul := c.home.Soul
		c.spec.Identity = &v1alpha1.IdentitySpec{Soul: &soul}
	}
}

// secrets sorts the variables of .env.
func (c *converter) secrets() {
	c.env, c.keys = map[string]string{}, map[string]string{}
	for _, e := range c.home.Env {
		if strings.HasPrefix(e.Name, "HERMES_") {
			c.out.note("%s of .env is not taken over: names that start with HERMES_ are set by the runtime", e.Name)
			continue
		}
		c.env[e.Name] = e.Value
	}
}

// finishSecrets makes Secrets of what was found.
func (c *converter) finishSecrets() {
	add := func(name string, values map[string]string) {
		if len(values) == 0 {
			return
		}
		s := &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: c.meta(name), Type: corev1.SecretTypeOpaque, StringData: map[string]string{},
		}
		for key, value := range values {
			if !c.opts.Secrets {
				value = ""
			}
			s.StringData[key] = value
		}
		c.out.Secrets = append(c.out.Secrets, s)
	}
	add(c.keySecret(), c.keys)
	add(c.opts.Name+"-env", c.env)
	if len(c.env) > 0 {
		c.spec.EnvFrom = []v1alpha1.EnvFromSource{{SecretRef: &v1alpha1.LocalRef{Name: c.opts.Name + "-env"}}}
	}
	if !c.opts.Secrets && len(c.env)+len(c.keys) > 0 {
		c.out.note("the Secrets hold the names of %d variables without their values: fill them in, or use --with-secrets", len(c.env)+len(c.keys))
	}
}

// key takes a value that only the runtime may see and returns the reference to it.
func (c *converter) key(name, value string) v1alpha1.SecretKeyRef {
	c.keys[name] = value
	return v1alpha1.SecretKeyRef{Name: c.keySecret(), Key: name}
}

// overlay puts what is left of config.yaml into spec.config, without what looks like a secret.
func (c *converter) overlay() {
	left := prune(c.config)
	c.dropSecrets(left, nil)
	left = prune(left)
	if telemetry, ok := left["telemetry"].(map[string]any); ok && telemetry["shared_metrics"] != nil {
		delete(telemetry, "shared_metrics")
		c.out.note("telemetry.shared_metrics is not taken over: consent is declared with a MetricsConsent")
		left = prune(left)
	}
	if len(left) == 0 {
		return
	}
	for _, key := range sortedKeys(left) {
		c.out.Overlaid = append(c.out.Overlaid, key)
		if !slices.Contains(knownKeys, key) {
			c.out.Unknown = append(c.out.Unknown, key)
		}
	}
	raw, err := json.Marshal(left)
	if err != nil {
		c.out.note("the rest of config.yaml is not taken over: %v", err)
		c.out.Overlaid = nil
		return
	}
	c.spec.Config = &apiextensionsv1.JSON{Raw: raw}
}

// knownKeys are the top-level keys of config.yaml that the specification names.
var knownKeys = []string{
	"model", "fallback_providers", "timezone", "database", "runtime", "max_concurrent_sessions", "max_live_sessions", "agent", "compression",
	"prompt_caching", "cron", "gateway", "streaming", "delegation", "logging", "toolsets", "disabled_toolsets", "mcp_servers", "plugins", "skills",
	"approvals", "peers", "terminal", "telemetry", "auxiliary", "memory", "display", "platforms", "tools", "web", "browser", "backup",
}

// dropSecrets removes literal secrets; a Profile may not hold them.
func (c *converter) dropSecrets(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			at := append(path[:len(path):len(path)], key)
			if home.InlinesSecret(key, v[key]) {
				delete(v, key)
				c.out.note("%s of config.yaml looks like a secret and is not taken over: put it into a Secret, name it in spec.env, and write ${NAME} into spec.config", strings.Join(at, "."))
				continue
			}
			c.dropSecrets(v[key], at)
		}
	case []any:
		for _, e := range v {
			c.dropSecrets(e, path)
		}
	}
}

// prune is m without empty objects.
func prune(m map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range m {
		if child, ok := v.(map[string]any); ok {
			if child = prune(child); len(child) == 0 {
				continue
			}
			v = child
		}
		if key != "" {
			out[key] = v
		}
	}
	return out
}

func clone(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if child, ok := v.(map[string]any); ok {
			v = clone(child)
		}
		out[k] = v
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
