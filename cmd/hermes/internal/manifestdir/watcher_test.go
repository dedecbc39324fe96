package manifestdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/manifests"
	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/test/controlplane"
)

var plane *controlplane.Env

func TestMain(m *testing.M) {
	env, err := controlplane.StartForSuite()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	plane = env
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var configmaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// rig is a watcher over a directory, with what it applied and said.
type rig struct {
	t      *testing.T
	dir    string
	client dynamic.Interface
	// trouble is the file for hermes status.
	trouble string
	stop    func()

	mu     sync.Mutex
	passes int
	log    []string
}

func start(t *testing.T, dir string) *rig {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, client: client}
	ctx, cancel := context.WithCancel(t.Context())
	w := &Watcher{
		Dir:     dir,
		Applier: &manifests.Applier{Client: client, Mapper: kube.OursFirst(meta.NewDefaultRESTMapper(nil)), Namespace: "default"},
		Clock:   clock.RealClock{},
		Log: logr.New(funcr.New(func(_, args string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.log = append(r.log, args)
		}, funcr.Options{}).GetSink()),
		TroubleFile: filepath.Join(t.TempDir(), "manifests.json"), Self: host.ProcessID{PID: 7, StartTime: 8},
		Passed: func([]manifests.Result) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.passes++
		},
	}
	r.trouble = w.TroubleFile
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func configmap(name, value string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {v: " + value + "}\n"
}

// await waits until the objects of the watched set are the given ones, as name=value.
func (r *rig) await(want ...string) {
	r.t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(r.t.Context(), 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := r.client.Resource(configmaps).Namespace("default").List(ctx, metav1.ListOptions{LabelSelector: "hermes.dev/applied-by=manifests"})
		if err != nil {
			return false, err
		}
		got = nil
		for _, item := range list.Items {
			value := item.Object["data"].(map[string]any)["v"]
			got = append(got, fmt.Sprintf("%s=%v", item.GetName(), value))
		}
		slices.Sort(got)
		return slices.Equal(got, want), nil
	})
	if err != nil {
		r.t.Fatalf("objects are %v, want %v; log:\n%s", got, want, r.said())
	}
}

func (r *rig) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.log)
}

// A directory is followed: what comes is applied, what changes is changed, what leaves is deleted, and a
// broken or half-written file costs nobody anything.
func TestWatcherFollowsItsDirectory(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir)
	r.write("a.yaml", configmap("a", "one"))
	r.write("sub/b.yaml", configmap("b", "one"))
	r.await("a=one", "b=one")
	r.write("a.yaml", configmap("a", "two"))
	r.await("a=two", "b=one")

	// Half-written, then broken, then empty: nothing is deleted, and the other file is still followed.
	for i, half := range []string{"---\napiVersion: v1\nkind: Conf", "kind: [", ""} {
		r.write("a.yaml", half)
		value := fmt.Sprintf("during-%d", i)
		r.write("sub/b.yaml", configmap("b", value))
		r.await("a=two", "b="+value)
	}
	r.write("a.yaml", configmap("a", "whole"))
	r.await("a=whole", "b=during-2")

	if err := os.Remove(filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	r.await("b=during-2")
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	r.await()
}

// What was applied by hand stays, whatever happens to the directory.
func TestWatcherPrunesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	hand := &manifests.Applier{Client: client, Mapper: kube.OursFirst(meta.NewDefaultRESTMapper(nil)), Namespace: "default", Manager: manifests.FieldManager}
	if r := hand.Apply(t.Context(), manifests.Parse("f", []byte(configmap("by-hand", "x"))), func(manifests.Result) {}); manifests.AnyFailed(r) {
		t.Fatal(r)
	}
	r := start(t, dir)
	r.write("c.yaml", configmap("c", "x"))
	r.await("c=x")
	if err := os.Remove(filepath.Join(dir, "c.yaml")); err != nil {
		t.Fatal(err)
	}
	r.await()
	if _, err := client.Resource(configmaps).Namespace("default").Get(t.Context(), "by-hand", metav1.GetOptions{}); err != nil {
		t.Errorf("by-hand: %v", err)
	}
}

// A new Nix generation is a link that points elsewhere.
func TestWatcherFollowsALinkThatMoves(t *testing.T) {
	base := t.TempDir()
	link := filepath.Join(base, "current")
	generation := func(name, value string) {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(configmap("d", value)), 0o600); err != nil {
			t.Fatal(err)
		}
		next := filepath.Join(base, "next")
		if err := os.Symlink(dir, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, link); err != nil {
			t.Fatal(err)
		}
	}
	generation("one", "one")
	r := start(t, link)
	r.await("d=one")
	generation("two", "two")
	r.await("d=two")
	// The disk is gone: nothing is deleted.
	if err := os.Rename(link, filepath.Join(base, "away")); err != nil {
		t.Fatal(err)
	}
	generation("three", "three")
	r.await("d=three")
	if err := os.Remove(filepath.Join(base, "three", "d.yaml")); err != nil {
		t.Fatal(err)
	}
	r.await()
}

func TestAnUnreadableDirectoryIsBrokenNotEmpty(t *testing.T) {
	c := read(filepath.Join(t.TempDir(), "missing"))
	if len(c.docs) != 1 || c.docs[0].Err == nil || c.digest != "" {
		t.Errorf("read of a missing directory = %+v: nothing may be pruned because of it", c)
	}
	if c := read(t.TempDir()); len(c.docs) != 0 || c.digest == "" {
		t.Errorf("read of an empty directory = %+v: want an empty set", c)
	}
}

// A directory that stays the same causes no request.
func TestAnUnchangedDirectoryIsNotAppliedAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(configmap("e", "x")), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	w := &Watcher{Dir: dir, Clock: clock.RealClock{}, Log: logr.Discard(), said: map[string]Failure{},
		Applier: &manifests.Applier{Client: client, Mapper: kube.OursFirst(meta.NewDefaultRESTMapper(nil)), Namespace: "default",
			Set: manifests.WatchedSet, Manager: manifests.WatchedFieldManager},
		Passed: func([]manifests.Result) { passes++ }}
	for range 5 {
		if !w.pass(t.Context()) {
			t.Fatal("pass failed")
		}
	}
	if passes != 1 {
		t.Errorf("%d passes sent something, want 1", passes)
	}
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(configmap("e", "y")), 0o600); err != nil {
		t.Fatal(err)
	}
	w.pass(t.Context())
	if passes != 2 {
		t.Errorf("a change was not applied")
	}
	if err := os.Remove(filepath.Join(dir, "e.yaml")); err != nil {
		t.Fatal(err)
	}
	w.pass(t.Context())
}
