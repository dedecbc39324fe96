package host

import (
	"context"
	"errors"
	"strings"
	"testing"
)

type profileGateway struct {
	fakeGateway
	calls chan string
}

func (g profileGateway) Serve(_ context.Context, name string) error {
	if name == "ghost" {
		return errors.New("no such home")
	}
	g.calls <- "serve " + name
	return nil
}

func (g profileGateway) Unserve(_ context.Context, name string) error {
	g.calls <- "unserve " + name
	return nil
}

// TestProfileVerbs: G-247, serve-profile and unserve-profile name their profile, and a refusal is one.
func TestProfileVerbs(t *testing.T) {
	home := shortDir(t)
	calls := make(chan string, 4)
	serve(t, ServerConfig{Home: home, Handler: profileGateway{calls: calls}})
	c := NewClient(home)
	if err := errors.Join(c.ServeProfile(t.Context(), "coder"), c.UnserveProfile(t.Context(), "coder")); err != nil {
		t.Fatal(err)
	}
	if a, b := <-calls, <-calls; a != "serve coder" || b != "unserve coder" {
		t.Errorf("calls %q %q", a, b)
	}
	if err := c.ServeProfile(t.Context(), "ghost"); err == nil || !strings.Contains(err.Error(), "no such home") {
		t.Errorf("ghost: %v", err)
	}
	if got := exchangeRaw(t, home, `{"verb":"serve-profile","id":1}`+"\n"); !strings.Contains(got, "names no profile") {
		t.Errorf("without a name: %s", got)
	}
	if got := exchangeRaw(t, home, `{"verb":"nope","id":1}`+"\n"); !strings.Contains(got, `"serve-profile","status","unserve-profile"`) {
		t.Errorf("supported verbs: %s", got)
	}
}
