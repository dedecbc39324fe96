package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// TestTwoGatewaysOneHome: the second one is refused, in any spelling of the path, and the first does not notice.
func TestTwoGatewaysOneHome(t *testing.T) {
	c := started(t)
	k, root, link := c.Client(), filepath.Join(c.Dir, "shared"), filepath.Join(c.Dir, "link")
	c.Apply(gatewayYAML("first", "  home: "+root+"\n"), demoYAML("one", "  gatewayRef: {name: first}\n"))
	first := gateway("first")
	AwaitReady(c, k, first, profile("one"))
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for name, home := range map[string]string{"same": root, "linked": link, "inside": root + "/profiles/one"} {
		c.Apply(gatewayYAML(name, "  home: "+home+"\n"))
		claimed := AwaitCondition(c, k, gateway(name), v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonHomeClaimed)
		if !strings.Contains(claimed.Message, "default/first") {
			t.Errorf("%s: the message does not name the owner: %s", name, claimed.Message)
		}
	}
	pid := first.Status.Instance.PID
	AwaitReady(c, k, first, profile("one"))
	if first.Status.Instance.PID != pid || first.Status.Restarts != 0 {
		t.Error("the first Gateway was disturbed")
	}
	say(t, c.API(root), "one", "hello")

	if err := k.Delete(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	c.must(c.Kubectl("", "delete", "gateway/linked", "gateway/inside", "--timeout=60s"))
	AwaitReady(c, k, gateway("same"))
}

// TestOneNameInTwoNamespaces: nothing but the name is shared.
func TestOneNameInTwoNamespaces(t *testing.T) {
	c := started(t)
	k, here, there := c.Client(), model(t), model(t)
	if err := k.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}); err != nil {
		t.Fatal(err)
	}
	set(t, k, secret("provider", map[string]string{"KEY": "here"}))
	elsewhere := secret("provider", map[string]string{"KEY": "there"})
	elsewhere.Namespace = "other"
	set(t, k, elsewhere)
	c.Apply(keyedYAML("one", here.URL(), "provider", "KEY", ""))
	c.must(c.HermesInput(gatewayYAML("default", "")+"\n---\n"+keyedYAML("one", there.URL(), "provider", "KEY", ""), "-n", "other", "apply", "-f", "-"))
	AwaitReady(c, k, profile("one"), profileIn("other", "one"), gatewayIn("other", "default"))

	otherRoot := filepath.Join(c.Data, "gateways", "other", "default")
	mine, err := c.Turn("one", "", "said here")
	if err != nil {
		t.Fatal(err)
	}
	api := c.API(otherRoot)
	say(t, api, "one", "said there")
	if _, err := api.Session(t.Context(), "one", mine.Hermes.Session); err == nil {
		t.Error("a session of namespace default is visible in namespace other")
	}
	if keys := keysSeen(here); len(keys) != 1 || keys[0] != "here" {
		t.Errorf("keys here: %q", keys)
	}
	if keys := keysSeen(there); len(keys) != 1 || keys[0] != "there" {
		t.Errorf("keys there: %q", keys)
	}
	if strings.Contains(string(there.Requests()[0].Body), "said here") {
		t.Error("what was said in one namespace went to the model of the other")
	}
	c.must(c.Kubectl("", "-n", "other", "delete", "profile/one", "--timeout=60s"))
	c.Say("one", "still here?")
}

// TestForeignGatewayIsWaitedFor: a gateway that somebody runs by hand is neither stopped nor doubled.
func TestForeignGatewayIsWaitedFor(t *testing.T) {
	c := started(t)
	k, root := c.Client(), filepath.Join(c.Dir, "byhand")
	byHand := c.spawn(binary(t, "hermes"), "gateway", "run", "--home", root, "--name", "byhand",
		"--kubeconfig", filepath.Join(c.Data, "controlplane", "gateway.kubeconfig"), "--namespace", "default")
	api := c.API(root)
	await(t, "start by hand", func() string {
		if _, err := api.Models(t.Context()); err != nil {
			return err.Error()
		}
		return ""
	})
	c.Apply(gatewayYAML("declared", "  home: "+root+"\n"), demoYAML("one", "  gatewayRef: {name: declared}\n"))
	foreign := AwaitCondition(c, k, gateway("declared"), v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonHostOwnedElsewhere)
	if !strings.Contains(foreign.Message, fmt.Sprint(byHand.cmd.Process.Pid)) {
		t.Errorf("the message does not say which process: %s", foreign.Message)
	}
	if !running(byHand.cmd.Process.Pid) {
		t.Fatal("the gateway that was started by hand was stopped")
	}
	byHand.stop()
	AwaitReady(c, k, gateway("declared"), profile("one"))
	say(t, api, "one", "hello")
}
