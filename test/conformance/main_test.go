package conformance

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/controllers/operator"
	"hermes.dev/hermes/runtime/node"
	testcontrolplane "hermes.dev/hermes/test/controlplane"
	"hermes.dev/hermes/test/fakeengine"
)

// suite is what all tests of the binary share; it is set once by TestMain.
var suite struct {
	env     *testcontrolplane.Env
	client  client.WithWatch
	traffic *traffic
	engine  *fakeengine.Engine
	nodes   *nodes
	homes   string

	mu   sync.Mutex
	stop func() error
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := tearDown(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func setUp() (err error) {
	if suite.env, err = testcontrolplane.StartForSuite(); err != nil {
		return err
	}
	if suite.homes, err = os.MkdirTemp("", "hermes-homes-"); err != nil {
		return err
	}
	if suite.client, err = client.NewWithWatch(suite.env.Config, client.Options{Scheme: operator.Scheme()}); err != nil {
		return err
	}
	suite.traffic = newTraffic()
	suite.nodes = &nodes{sets: map[engine.Ref]*memoryProfiles{}}
	suite.engine = fakeengine.New(suite.nodes.run)
	return startOperator()
}

func tearDown() error {
	err := stopOperator()
	suite.engine.Close()
	if e := suite.env.Stop(); err == nil {
		err = e
	}
	if e := os.RemoveAll(suite.homes); err == nil {
		err = e
	}
	return err
}

// startOperator runs the real operator until stopOperator, and returns once its caches are filled.
func startOperator() error {
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- operator.Run(ctx, suite.traffic.count(suite.env.Config, "operator"), operator.Options{
			Log: logr.Discard(), HomeRoot: suite.homes, Ready: func() { close(ready) },
			Engines: map[v1alpha1.EngineType]engine.Engine{v1alpha1.EngineProcess: suite.engine},
		})
	}()
	suite.mu.Lock()
	suite.stop = func() error { cancel(); return <-done }
	suite.mu.Unlock()
	select {
	case <-ready:
		return nil
	case err := <-done:
		cancel()
		return fmt.Errorf("operator ended: %w", err)
	}
}

func stopOperator() error {
	suite.mu.Lock()
	defer suite.mu.Unlock()
	return suite.stop()
}

// nodes are the gateways' insides: the real node agent over profiles in memory.
type nodes struct {
	mu   sync.Mutex
	sets map[engine.Ref]*memoryProfiles
}

// run is what a run of the fake engine does.
func (n *nodes) run(ctx context.Context, w engine.Workload, instance string) {
	p := n.of(w.Ref)
	p.restart()
	_ = node.Run(ctx, node.Options{
		Config: suite.traffic.count(suite.env.Config, "node"), Namespace: w.Namespace, Gateway: w.Name, Instance: instance,
		Root: w.Home, AdoptExisting: w.AdoptExistingHome, Profiles: p, Clock: clock.RealClock{}, Log: logr.Discard(),
	})
}

// of returns the profiles of a gateway; they outlive its runs so that faults can be set before one starts.
func (n *nodes) of(ref engine.Ref) *memoryProfiles {
	n.mu.Lock()
	defer n.mu.Unlock()
	p, ok := n.sets[ref]
	if !ok {
		p = newMemoryProfiles()
		n.sets[ref] = p
	}
	return p
}
