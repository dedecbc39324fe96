package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
)

// While hermes up runs, a control plane that does not listen is on its way: later works, starting it does not.
func TestControlPlaneThatRestarts(t *testing.T) {
	data := datadir.Dir(t.TempDir())
	owner, err := datadir.Self(time.Now()).Encode() // this process stands for hermes up
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data.UpLock(), owner, 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(manifest, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	verbs := map[string][]string{
		"status": {"status"}, "get": {"get", "profiles"}, "apply": {"apply", "-f", manifest}, "chat": {"chat", "-q", "x"},
	}
	check := func(t *testing.T) {
		for name, args := range verbs {
			t.Run(name, func(t *testing.T) {
				r := runHere(t, map[string]string{"HERMES_DATA": string(data)}, args...)
				if err := contains(r, "the control plane of "+string(data)+" is starting or restarting: try again in a few seconds"); err != nil || r.code != 75 {
					t.Errorf("exit %d, want 75: %v", r.code, err)
				}
			})
		}
	}
	t.Run("first start", check)
	path := data.ControlPlane().Kubeconfig()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"} // nothing listens there
	cfg.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	cfg.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
	t.Run("restart", check)
}
