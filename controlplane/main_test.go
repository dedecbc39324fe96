package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/controlplane"
	testcontrolplane "hermes.dev/hermes/test/controlplane"
)

// parentMode makes this test binary the parent in TestEndsWithItsParent: it starts a control plane in the
// named directory and waits to be killed.
const parentMode = "HERMES_TEST_PARENT_OF"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentMode); dir != "" {
		beParent(dir)
		return
	}
	goleak.VerifyTestMain(m,
		// lumberjack keeps one idle goroutine per logger for ever (natefinch/lumberjack issue 56).
		goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"),
		goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack.v2.(*Logger).millRun"),
	)
}

func beParent(dir string) {
	binary, err := testcontrolplane.Binary()
	if err != nil {
		panic(err)
	}
	s, err := controlplane.Start(context.Background(), controlplane.Options{Binary: binary, DataDir: dir, Log: logr.Discard()})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.PID())
	<-s.Done()
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := testcontrolplane.Binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs a control plane on dir and stops it at the end of the test.
func start(t *testing.T, dir string) *controlplane.Server {
	t.Helper()
	s, err := controlplane.Start(t.Context(), controlplane.Options{Binary: binary(t), DataDir: dir, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) }) // a test that cares has looked at the error
	return s
}

func restConfig(t *testing.T, s *controlplane.Server) *rest.Config {
	t.Helper()
	cfg, err := s.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func clientset(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	// A transport of its own, whose idle connections end with the test.
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(httpClient.CloseIdleConnections)
	c, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// within waits until done reports true, and fails the test when that takes longer than limit.
func within(t *testing.T, limit time.Duration, what string, done func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %s (last error: %v)", what, limit, err)
		}
	}
}

// create makes an object or fails the test.
func create[T any](t *testing.T, call func(context.Context, T, metav1.CreateOptions) (T, error), object T) {
	t.Helper()
	if _, err := call(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
