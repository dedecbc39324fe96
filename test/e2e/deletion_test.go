package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestDeletionPolicies: Retain keeps every file and the next Profile of the name finds its sessions; Delete removes
// exactly one home.
func TestDeletionPolicies(t *testing.T) {
	c := started(t)
	k := c.Client()
	c.Apply(demoYAML("kept", ""), demoYAML("gone", "  deletionPolicy: Delete\n"), demoYAML("neighbour", ""))
	AwaitReady(c, k, profile("kept"), profile("gone"), profile("neighbour"))
	session, err := c.Turn("kept", "", "remember me")
	if err != nil {
		t.Fatal(err)
	}
	c.Say("gone", "forget me")
	c.Say("neighbour", "leave me")
	writeFile(t, filepath.Join(c.ProfileHome("kept"), "mine.md"), "mine")
	neighbour := fingerprints(t, filepath.Join(c.ProfileHome("neighbour"), "config.yaml"))

	c.must(c.Kubectl("", "delete", "profile/kept", "profile/gone", "--timeout=60s"))
	if _, err := os.Stat(c.ProfileHome("gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("deletionPolicy Delete left the home: %v", err)
	}
	if readFile(t, filepath.Join(c.ProfileHome("kept"), "mine.md")) != "mine" {
		t.Error("deletionPolicy Retain lost a file")
	}
	untouched(t, "neighbour", neighbour, fingerprints(t, filepath.Join(c.ProfileHome("neighbour"), "config.yaml")))
	c.Say("neighbour", "still there?")
	if _, err := c.Turn("kept", "", "hello?"); code(err) != "model_not_found" {
		t.Errorf("a deleted profile: %v", err)
	}
	if left := c.must(c.Kubectl("", "get", "secrets", "-o", "name")); left != "secret/hermes-home-neighbour\n" {
		t.Errorf("Secrets: %s", left)
	}

	c.Apply(demoYAML("kept", ""), demoYAML("gone", ""))
	AwaitReady(c, k, profile("kept"), profile("gone"))
	if _, err := c.Turn("kept", session.Hermes.Session, "do you remember?"); err != nil {
		t.Errorf("the session of the deleted Profile: %v", err)
	}
	sessions, err := c.API(c.GatewayHome("default")).Sessions(t.Context(), "gone", localapi.SessionFilter{})
	if err != nil || len(sessions) != 0 {
		t.Errorf("the recreated Profile has %d sessions, %v", len(sessions), err)
	}
}

// inFlight begins a turn that the model holds back until release is called.
func inFlight(t *testing.T, c *Cluster, m *fakemodel.Server) (release func(), ended <-chan error) {
	t.Helper()
	gate, done := make(chan struct{}), make(chan error, 1)
	m.Script(fakemodel.Turn{Text: "finished", Gate: gate})
	before := len(m.Requests())
	go func() {
		answer, err := c.Turn("one", "", "take your time")
		if err == nil && reply(answer) != "finished" {
			err = errors.New("got: " + reply(answer))
		}
		done <- err
	}()
	if _, err := m.WaitRequests(t.Context(), before+1); err != nil {
		t.Fatal(err)
	}
	return func() { close(gate) }, done
}

// TestDeletedGatewayDrains: a turn in flight is finished, new ones are refused, and then nothing is left.
func TestDeletedGatewayDrains(t *testing.T) {
	c := started(t)
	k, m := c.Client(), model(t)
	c.Apply(profileYAML("one", m.URL(), ""))
	gw := gateway("default")
	AwaitReady(c, k, profile("one"), gw)
	release, ended := inFlight(t, c, m)
	if err := k.Delete(context.Background(), gw); err != nil {
		t.Fatal(err)
	}
	AwaitCondition(c, k, gw, v1alpha1.ConditionReady, "False", v1alpha1.ReasonDraining)
	await(t, "refusal of new turns", func() string {
		if _, err := c.Turn("one", "", "me too"); code(err) != "stopping" {
			return "got " + code(err)
		}
		return ""
	})
	release()
	if err := <-ended; err != nil {
		t.Errorf("the turn in flight: %v", err)
	}
	c.must(c.Kubectl("", "wait", "--for=delete", "gateway/default", "--timeout=60s"))
	if running(int(gw.Status.Instance.PID)) {
		t.Error("the Gateway is gone and its process is not")
	}
	AwaitCondition(c, k, profile("one"), v1alpha1.ConditionReady, "False", v1alpha1.ReasonGatewayNotFound)
}

// TestDrainTimeoutIsABound: a turn that never ends does not hold a stop up beyond drainTimeout, and what was said is kept.
func TestDrainTimeoutIsABound(t *testing.T) {
	c := started(t)
	k, m := c.Client(), model(t)
	c.Apply(gatewayYAML("default", "  drainTimeout: 1s\n"), profileYAML("one", m.URL(), ""))
	AwaitReady(c, k, profile("one"), gateway("default"))
	_, ended := inFlight(t, c, m)
	c.Down()
	if err := <-ended; err == nil {
		t.Error("a turn that the model never answered has a reply")
	}
	c.Up("--wait")
	sessions, err := c.API(c.GatewayHome("default")).Sessions(t.Context(), "one", localapi.SessionFilter{})
	if err != nil || len(sessions) != 1 || sessions[0].Messages != 1 {
		t.Errorf("what was said before the stop: %+v, %v", sessions, err)
	}
}

// TestDownFinishesTheTurnInFlight: hermes down is no way to lose a reply.
func TestDownFinishesTheTurnInFlight(t *testing.T) {
	c := started(t)
	m := model(t)
	c.Apply(profileYAML("one", m.URL(), ""))
	AwaitReady(c, c.Client(), profile("one"), gateway("default"))
	release, ended := inFlight(t, c, m)
	down := make(chan result, 1)
	go func() { down <- c.Hermes("down") }()
	await(t, "refusal of new turns", func() string {
		if _, err := c.Turn("one", "", "me too"); code(err) != "stopping" {
			return "got " + code(err)
		}
		return ""
	})
	release()
	if err := <-ended; err != nil {
		t.Errorf("the turn in flight: %v", err)
	}
	if r := <-down; r.Code != 0 {
		t.Errorf("hermes down: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if left := c.processes(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}
