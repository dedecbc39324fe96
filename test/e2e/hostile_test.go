package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/localapi"
)

// TestFullDiskLosesNothing: with no space left every turn is refused with the reason, what was stored stays, and
// everything works again once there is space, without a restart.
func TestFullDiskLosesNothing(t *testing.T) {
	if !mayMount(t) {
		return // it ran in a namespace of its own
	}
	c := started(t)
	k, disk := c.Client(), filepath.Join(c.Dir, "disk")
	mountSmall(t, disk, "6m")
	// After hermes down, which closes what is open there, and before the directory is removed.
	c.beforeRemoval = append(c.beforeRemoval, func() { unmount(t, disk) })
	c.Apply(gatewayYAML("small", "  home: "+disk+"/root\n"), demoYAML("one", "  gatewayRef: {name: small}\n"))
	AwaitReady(c, k, gateway("small"), profile("one"))
	api := c.API(filepath.Join(disk, "root"))
	first, err := turn(api, "one", "", "before")
	if err != nil {
		t.Fatal(err)
	}
	session := first.Hermes.Session
	ballast := fill(t, disk)

	acknowledged := []string{"before"}
	large := strings.Repeat("x", 64<<10)
	var refused error
	for i := 0; refused == nil && i < 200; i++ {
		text := "during " + strings.Repeat("i", i+1) + large
		if _, refused = turn(api, "one", session, text); refused == nil {
			acknowledged = append(acknowledged, text)
		}
	}
	if !strings.HasPrefix(code(refused), "session_persistence_failed") && code(refused) != "failed" {
		t.Errorf("a full disk: %v (%s)", refused, code(refused))
	}
	if !strings.Contains(strings.ToLower(refused.Error()), "full") && !strings.Contains(refused.Error(), "space") {
		t.Errorf("the refusal does not say that the disk is full: %v", refused)
	}
	c.Apply(demoYAML("two", "  gatewayRef: {name: small}\n  homeFiles: {big.md: {content: "+strings.Repeat("y", 200<<10)+"}}\n"))
	AwaitCondition(c, k, profile("two"), v1alpha1.ConditionReady, "False", v1alpha1.ReasonHomeWriteFailed)

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	await(t, "turns with space again", func() string {
		if _, err := turn(api, "one", session, "after"); err != nil {
			return err.Error()
		}
		return ""
	})
	AwaitReady(c, k, gateway("small"), profile("one"), profile("two"))
	detail, err := api.Session(t.Context(), "one", session)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, row := range detail.Transcript {
		said[row.Content] = true
	}
	for _, text := range append(acknowledged, "after") {
		if !said[text] {
			t.Errorf("lost: %.60s", text)
		}
	}
	if gw := gateway("small"); AwaitObject(c, k, gw, "", func(*v1alpha1.Gateway) bool { return true }).Status.Restarts != 0 {
		t.Error("the gateway was restarted")
	}
}

// TestGatewayStandsHostileClients: requests too large, requests that are none, and connections that say nothing cost
// the others nothing, on both sockets.
func TestGatewayStandsHostileClients(t *testing.T) {
	c, gw := answering(t)
	root := c.GatewayHome("default")
	socket := localapi.SocketPath(root, "/tmp")
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	for name, body := range map[string]string{
		"10 MB":    `{"model":"one","messages":[{"role":"user","content":"` + strings.Repeat("x", 10<<20) + `"}]}`,
		"not JSON": `{"model":`,
		"no text":  `{"model":"one","messages":[]}`,
		"a tower":  strings.Repeat("[", 1<<20),
	} {
		resp, err := client.Post("http://gateway/v1/chat/completions", "application/json", bytes.NewBufferString(body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode > 499 || !bytes.Contains(answer, []byte(`"message"`)) {
			t.Errorf("%s: %s %.300s", name, resp.Status, answer)
		}
	}

	for name, path := range map[string]string{"API": socket, "control": host.SocketPath(root, "/tmp").Path} {
		for range 300 {
			conn, err := net.Dial("unix", path)
			if err != nil {
				t.Fatalf("%s socket: %v", name, err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("G")); err != nil {
				break // it may hang up on clients that talk no sense
			}
		}
	}
	c.Say("one", "do you still answer?")
	k := c.Client()
	c.Apply(demoYAML("two", ""))
	AwaitReady(c, k, profile("two"), gw)
	if gw.Status.Restarts != 0 {
		t.Errorf("the gateway was restarted%s", describe(gw.Status.Conditions))
	}
}
