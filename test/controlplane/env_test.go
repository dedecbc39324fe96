package controlplane_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"

	testcontrolplane "hermes.dev/hermes/test/controlplane"
)

func TestStartServesTheKindsOfThisRepository(t *testing.T) {
	env := testcontrolplane.StartEnv(t)
	client, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	bases, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(bases) == 0 {
		t.Fatalf("no CRDs in this repository (%v)", err)
	}
	served, err := client.ServerResourcesForGroupVersion("hermes.dev/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range served.APIResources {
		names = append(names, r.Name)
	}
	for _, base := range bases {
		// controller-gen names the files GROUP_PLURAL.yaml.
		_, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(base), ".yaml"), "_")
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+plural+" ") {
			t.Errorf("%s is not served, only %v", plural, names)
		}
	}
}

func TestSuiteLeavesNothing(t *testing.T) {
	env, err := testcontrolplane.StartForSuite()
	if err != nil {
		t.Fatal(err)
	}
	if err := env.Stop(); err != nil {
		t.Fatal(err)
	}
	<-env.Done()
	if _, err := os.Stat(env.DataDir); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", env.DataDir, err)
	}
}

func TestMissingBinarySaysHowToBuildIt(t *testing.T) {
	t.Setenv("HERMES_APISERVER", filepath.Join(t.TempDir(), "none"))
	if _, err := testcontrolplane.StartForSuite(); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("error %v, want one that says 'make build'", err)
	}
}
