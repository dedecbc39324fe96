package sessions

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/profilehome"
)

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour, " 30m ": 30 * time.Minute,
		"": 0, "0d": 0, "-1d": 0, "d": 0, "1x": 0, "99999999d": 0, "NaNd": 0, "infd": 0,
	} {
		if got, err := ParseAge(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestParseWhen(t *testing.T) {
	zone := time.FixedZone("z", 3600)
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"":                     {},
		"7d":                   now.AddDate(0, 0, -7),
		"2026-11-01":           time.Date(2026, 11, 1, 0, 0, 0, 0, zone),
		"2026-11-01T08:30":     time.Date(2026, 11, 1, 8, 30, 0, 0, zone),
		"2026-11-01T08:30:00Z": time.Date(2026, 11, 1, 8, 30, 0, 0, time.UTC),
	} {
		if got, err := ParseWhen(text, now, zone); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := ParseWhen("soon", now, zone); err == nil || !strings.Contains(err.Error(), "is no time") {
		t.Errorf("soon: %v", err)
	}
}

func TestChoose(t *testing.T) {
	profileOn := func(name, gateway string) v1alpha1.Profile {
		p := v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.GatewayRef.Name = gateway
		return p
	}
	gateway := func(name, home, socket string, engine v1alpha1.EngineType) v1alpha1.Gateway {
		g := v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: name}}
		g.Spec.Engine, g.Status.Home = engine, home
		if socket != "" {
			g.Status.Instance = &v1alpha1.GatewayInstance{APISocket: socket}
		}
		return g
	}
	profiles := []v1alpha1.Profile{
		profileOn("alice", ""), profileOn("bob", "second"), profileOn("carol", "pod"), profileOn("dave", "gone"), profileOn("erin", "new"),
	}
	gateways := []v1alpha1.Gateway{
		gateway("default", "/h", "/h/s", v1alpha1.EngineProcess), gateway("second", "/h2", "", v1alpha1.EngineProcess),
		gateway("pod", "", "", v1alpha1.EngineKubernetes), gateway("new", "", "", v1alpha1.EngineProcess),
	}
	for wanted, c := range map[string]struct {
		want Target
		says string
	}{
		"alice": {Target{Profile: "alice", Gateway: "default", Root: "/h", Socket: "/h/s"}, ""},
		"bob":   {Target{Profile: "bob", Gateway: "second", Root: "/h2"}, ""},
		"carol": {Target{}, "in the pod of gateway pod"},
		"dave":  {Target{}, "there is no gateway gone"},
		"erin":  {Target{}, "has never run"},
		"":      {Target{}, "which profile?"},
		"zoe":   {Target{}, `no profile "zoe"`},
	} {
		got, err := choose(profiles, gateways, "default", wanted)
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %+v, %v", wanted, got, err)
		}
	}
}

func TestLocateOffline(t *testing.T) {
	dir := t.TempDir()
	for gateway, profile := range map[string]string{"default": "alice", "second": "bob"} {
		root := filepath.Join(dir, "default", gateway)
		if err := os.MkdirAll(root, 0o700); err != nil {
			t.Fatal(err)
		}
		profilehome.Write(t, root, profile, profilehome.Demo())
	}
	got, ok, err := LocateOffline(dir, "default", "bob")
	if want := (Target{Profile: "bob", Gateway: "second", Root: filepath.Join(dir, "default", "second")}); err != nil || !ok || got != want {
		t.Errorf("%+v %t %v", got, ok, err)
	}
	if _, ok, err := LocateOffline(dir, "default", "carol"); ok || err == nil {
		t.Errorf("carol: %t %v", ok, err)
	}
	if _, ok, err := LocateOffline(dir, "other", "bob"); ok || err != nil {
		t.Errorf("another namespace: %t %v", ok, err)
	}
}

func TestHitsAreHarmless(t *testing.T) {
	hits := []localapi.SearchHit{{Session: "s", Role: "user", Snippet: "a \x1b[2J\n>>>b<<<\u202e"}}
	for bold, want := range map[bool]string{false: "a ^[[2J [b]<U+202E>", true: "a ^[[2J \x1b[1mb\x1b[0m<U+202E>"} {
		var out bytes.Buffer
		if err := Hits(&out, hits, bold, false); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("bold %t: %q, %v", bold, out.String(), err)
		}
	}
}
