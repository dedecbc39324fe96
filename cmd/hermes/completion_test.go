package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"hermes.dev/hermes/test/profilehome"
)

// TestCompletion: what names an object offers those that there are.
func TestCompletion(t *testing.T) {
	home := profilehome.Write(t, t.TempDir(), "alice", profilehome.Demo()).Home
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := filepath.Base(r.URL.Path)
		kind, names := map[string]string{"profiles": "ProfileList", "gateways": "GatewayList"}[resource], []string{"default", "lab"}
		if resource == "profiles" {
			names = []string{"alice", "albert", "bob"}
		}
		var items []map[string]any
		for _, name := range names {
			item := map[string]any{"metadata": map[string]any{"name": name}}
			if name == "alice" {
				item["status"] = map[string]any{"gateway": map[string]any{"name": "default", "home": home}}
			}
			items = append(items, item)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "hermes.dev/v1alpha1", "kind": kind, "items": items})
	}))
	t.Cleanup(server.Close)
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"], cfg.Contexts["c"], cfg.CurrentContext = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{Cluster: "c"}, "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"chat -p |al":                         "alice albert",
		"sessions list -p |":                  "alice albert bob",
		"tools list -p |b":                    "bob",
		"profile restore -p |b":               "bob",
		"profile backup |al":                  "alice albert",
		"profile show |":                      "alice albert bob",
		"profile restore alice |":             "",
		"gateway restart |l":                  "lab",
		"status |":                            "gateway/ profile/ relayidentity/ metricsconsent/ schedule/",
		"status |profile/al":                  "profile/alice profile/albert",
		"status profile |b":                   "bob",
		"get |pro":                            "profile",
		"get hgw |":                           "default lab",
		"delete profile bob |":                "alice albert",
		"delete profile/bob |profile/":        "profile/alice profile/albert",
		"get pods |":                          "",
		"tools enable -p alice |we":           "web",
		"tools disable -p alice web |w":       "",
		"tools show --home " + home + " |web": "web web_fetch",
	} {
		before, begun, _ := strings.Cut(line, "|")
		args := append([]string{"__complete", "--kubeconfig", path}, strings.Fields(before)...)
		r := runHere(t, map[string]string{"HOME": t.TempDir()}, append(args, begun)...)
		var got []string
		for _, offer := range strings.Split(r.stdout, "\n") {
			if offer = strings.Split(offer, "\t")[0]; offer != "" && !strings.HasPrefix(offer, ":") {
				got = append(got, offer)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s offers %v, want %q: %s", line, got, want, r.stderr)
		}
	}
}
