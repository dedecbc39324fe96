package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/controlplane"
)

// Env is a control plane for tests.
type Env struct {
	// Config is the administrator's.
	Config *rest.Config
	// Kubeconfig is the path of the administrator's kubeconfig, for Kubectl.
	Kubeconfig string
	// GatewayKubeconfig is the path of the gateways' kubeconfig.
	GatewayKubeconfig string
	// DataDir holds everything the control plane keeps.
	DataDir string

	server *controlplane.Server
	own    string // directory to remove, empty when the caller owns it
}

// Start runs a control plane for one test and stops it when the test ends.
func Start(t testing.TB) *rest.Config { return StartEnv(t).Config }

// StartEnv is Start for tests that need the files as well.
func StartEnv(t testing.TB) *Env {
	t.Helper()
	env, err := start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop control plane: %v", err)
		}
	})
	return env
}

// StartForSuite runs a control plane for a whole suite, from TestMain or BeforeSuite. The caller must call
// Stop.
func StartForSuite() (*Env, error) {
	dir, err := os.MkdirTemp("", "hermes-test-")
	if err != nil {
		return nil, err
	}
	env, err := start(context.Background(), dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	env.own = dir
	return env, nil
}

// Stop ends the control plane and removes what StartForSuite created.
func (e *Env) Stop() error {
	err := e.server.Stop(context.Background())
	if e.own != "" {
		err = errors.Join(err, os.RemoveAll(e.own))
	}
	return err
}

// Done is closed when the control plane has ended, asked or not.
func (e *Env) Done() <-chan struct{} { return e.server.Done() }

func start(ctx context.Context, dir string) (*Env, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	server, err := controlplane.Start(ctx, controlplane.Options{Binary: binary, DataDir: dir, Log: logr.Discard()})
	if err != nil {
		return nil, err
	}
	env := &Env{
		Kubeconfig:        server.Kubeconfig(),
		GatewayKubeconfig: server.Layout().GatewayKubeconfig(),
		DataDir:           dir,
		server:            server,
	}
	if env.Config, err = server.RESTConfig(); err == nil {
		err = installCRDs(ctx, env.Config)
	}
	if err != nil {
		return nil, errors.Join(err, env.Stop())
	}
	return env, nil
}

func installCRDs(ctx context.Context, cfg *rest.Config) error {
	bases := os.DirFS(filepath.Join(root(), "config", "crd", "bases"))
	if _, err := fs.Stat(bases, "."); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return controlplane.InstallCRDs(ctx, cfg, bases)
}

// Binary is the hermes-apiserver that suites run: $HERMES_APISERVER, else bin/hermes-apiserver.
func Binary() (string, error) { return built("HERMES_APISERVER", controlplane.BinaryName) }

func built(variable, name string) (string, error) {
	path := os.Getenv(variable) //nolint:forbidigo // tests take the binary under test from the environment
	if path == "" {
		path = filepath.Join(root(), "bin", name)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("this test runs the real %s: %w: run 'make build' first, or set %s", name, err, variable)
	}
	return path, nil
}

// root is the top of the repository: the directory above the test's with the module's go.mod.
func root() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if raw, err := os.ReadFile(filepath.Join(d, "go.mod")); err == nil && strings.HasPrefix(string(raw), "module hermes.dev/hermes\n") {
			return d
		}
	}
	return dir
}
