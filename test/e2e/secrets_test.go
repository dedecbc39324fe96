package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/test/fakemodel"
)

func secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StringData: data}
}

// set makes a Secret hold exactly these values.
func set(t *testing.T, k client.Client, s *corev1.Secret) {
	t.Helper()
	fresh := s.DeepCopy()
	err := k.Get(context.Background(), client.ObjectKeyFromObject(s), fresh)
	if err != nil {
		if err := k.Create(context.Background(), s); err != nil {
			t.Fatal(err)
		}
		return
	}
	fresh.Data, fresh.StringData = nil, s.StringData
	if err := k.Update(context.Background(), fresh); err != nil {
		t.Fatal(err)
	}
}

// keysSeen are the keys of all requests so far.
func keysSeen(m *fakemodel.Server) []string {
	var out []string
	for _, r := range m.Requests() {
		out = append(out, r.Key)
	}
	return out
}

// TestSecretsAreFollowed: missing is said before the first message, a new value is used by the next request, and a
// value that is taken away is never used again.
func TestSecretsAreFollowed(t *testing.T) {
	c := started(t)
	k, m := c.Client(), model(t)
	c.Apply(keyedYAML("one", m.URL(), "provider", "API_KEY", ""))
	missing := AwaitCondition(c, k, profile("one"), v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSecretNotFound)
	if !strings.Contains(missing.Message, `"provider"`) {
		t.Errorf("the condition does not name the Secret: %s", missing.Message)
	}
	remedy := ""
	for _, o := range c.Status().Objects {
		if o.Kind == "Profile" {
			remedy = o.Remedy
		}
	}
	if !strings.Contains(remedy, "kind: Secret, metadata: {name: provider}, stringData: {API_KEY: ") {
		t.Errorf("status offers no remedy: %q", remedy)
	}

	set(t, k, secret("provider", map[string]string{"API_KEY": "first"}))
	AwaitReady(c, k, profile("one"))
	c.Say("one", "hello")

	set(t, k, secret("provider", map[string]string{"API_KEY": "second"}))
	await(t, "use of the rotated key", func() string {
		c.Say("one", "which key?")
		if keys := keysSeen(m); keys[len(keys)-1] != "second" {
			return "still the old one"
		}
		return ""
	})

	for name, revoke := range map[string]func() error{
		"emptied": func() error { set(t, k, secret("provider", map[string]string{"API_KEY": ""})); return nil },
		"removed": func() error { set(t, k, secret("provider", map[string]string{"OTHER": "x"})); return nil },
		"deleted": func() error { return k.Delete(context.Background(), secret("provider", nil)) },
	} {
		if err := revoke(); err != nil {
			t.Fatal(err)
		}
		revoked := time.Now()
		await(t, name+" key: refusal of turns", func() string {
			if _, err := c.Turn("one", "", "still?"); code(err) != "credential_missing" {
				return "got " + code(err)
			}
			return ""
		})
		took := time.Since(revoked)
		t.Logf("%s key: turns refused after %s", name, took)
		if took > 5*time.Second { // the target is one second, on a machine that does nothing else
			t.Errorf("%s key was used for %s more", name, took)
		}
		want := v1alpha1.ReasonCredentialMissing
		if name == "deleted" {
			want = v1alpha1.ReasonSecretNotFound
		}
		AwaitCondition(c, k, profile("one"), v1alpha1.ConditionReady, metav1.ConditionFalse, want)
		calls := len(m.Requests())
		if _, err := c.Turn("one", "", "once more"); code(err) != "credential_missing" || len(m.Requests()) != calls {
			t.Errorf("%s key: %v, %d requests more", name, err, len(m.Requests())-calls)
		}
		set(t, k, secret("provider", map[string]string{"API_KEY": "back"}))
		AwaitReady(c, k, profile("one"))
		await(t, "use of the key that came back", func() string {
			if _, err := c.Turn("one", "", "hello"); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	for i, key := range keysSeen(m) {
		if key != "first" && key != "second" && key != "back" {
			t.Errorf("request %d carried the key %q", i, key)
		}
	}
}

// TestSecretsNeverCross: neither the environment of hermes up, nor the gateway process's, nor another profile's values
// reach a model server or a tool.
func TestSecretsNeverCross(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.Env = []string{"OPENAI_API_KEY=leak-up", "HERMES_MODEL_API_KEY=leak-model", "HERMES_HOME=" + c.Dir + "/leak-home", "ANTHROPIC_API_KEY=leak-anthropic"}
	c.Up()
	k, withKey, without := c.Client(), model(t), model(t)
	set(t, k, secret("a", map[string]string{"KEY": "key-of-a", "TOKEN": "token-of-a"}))
	set(t, k, secret("b", map[string]string{"TOKEN": "token-of-b"}))
	c.Apply(gatewayYAML("default", "  process: {env: [{name: OPENAI_API_KEY, value: leak-process}, {name: MODEL_API_KEY, value: leak-process}]}\n"))
	const tools = "  approvals: {mode: Allow}\n  env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: %, key: TOKEN}}}]\n"
	c.Apply(keyedYAML("a", withKey.URL(), "a", "KEY", strings.ReplaceAll(tools, "%", "a")),
		profileYAML("b", without.URL(), strings.ReplaceAll(tools, "%", "b")))
	AwaitReady(c, k, profile("a"), profile("b"))
	AwaitReady(c, k, gateway("default"))

	for name, m := range map[string]*fakemodel.Server{"a": withKey, "b": without} {
		m.Script(fakemodel.Calls(fakemodel.ToolCall{ID: "1", Name: "terminal", Arguments: `{"command":"env; cat /proc/self/environ | tr '\\0' '\\n'"}`}), fakemodel.Text("done"))
		await(t, "answer of "+name, func() string {
			if _, err := c.Turn(name, "", "show your environment"); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.pidOf("gateway run")))
	if err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []string{"leak-up", "leak-model", "leak-home", "leak-anthropic", "key-of-", "token-of-"} {
		if strings.Contains(string(raw), forbidden) {
			t.Errorf("%q is in the environment of the gateway process", forbidden)
		}
	}
	for name, m := range map[string]*fakemodel.Server{"a": withKey, "b": without} {
		other := map[string]string{"a": "b", "b": "a"}[name]
		requests := m.Requests()
		last := string(requests[len(requests)-1].Body)
		if !strings.Contains(last, "token-of-"+name) {
			t.Errorf("the tool of %s did not get its own variable: %.2000s", name, last)
		}
		for _, r := range requests {
			headers := ""
			for key, values := range r.Header {
				headers += key + ": " + strings.Join(values, ",") + "\n"
			}
			for _, forbidden := range []string{"leak-", "key-of-" + other, "token-of-" + other} {
				if strings.Contains(headers, forbidden) || strings.Contains(string(r.Body), forbidden) {
					t.Errorf("%q reached the model server of %s:\n%s%.3000s", forbidden, name, headers, r.Body)
				}
			}
		}
	}
	if keys := keysSeen(withKey); keys[0] != "key-of-a" {
		t.Errorf("keys of a: %q", keys)
	}
	if keys := keysSeen(without); keys[0] != "" {
		t.Errorf("keys of b, which has none: %q", keys)
	}
}
