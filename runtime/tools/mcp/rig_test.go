package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/tools"
)

// rig is a profile's servers with a set that offers their tools.
type rig struct {
	t       testing.TB
	home    string
	servers *Servers
	set     *tools.Set
	changes atomic.Int64
	log     *logBook
}

type logBook struct{ lines chan string }

func (b *logBook) all() string {
	var out strings.Builder
	for {
		select {
		case l := <-b.lines:
			out.WriteString(l + "\n")
		default:
			return out.String()
		}
	}
}

func newRig(t testing.TB, change ...func(*tools.Config)) *rig {
	t.Helper()
	r := &rig{t: t, home: t.TempDir(), log: &logBook{lines: make(chan string, 10_000)}}
	log := funcr.New(func(prefix, args string) {
		select {
		case r.log.lines <- prefix + " " + args:
		default:
		}
	}, funcr.Options{Verbosity: 2})
	c := tools.Config{Workspace: r.home, Home: r.home, Clock: clock.RealClock{}, Log: logr.Discard(), RunID: "run"}
	for _, f := range change {
		f(&c)
	}
	var err error
	if r.set, err = tools.NewSet(c); err != nil {
		t.Fatal(err)
	}
	r.servers = New(Options{Home: r.home, RunID: "run", Clock: clock.RealClock{}, Log: log, Changed: func() { r.changes.Add(1) }})
	detach := r.servers.Attach(r.set)
	t.Cleanup(func() {
		detach()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := r.servers.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := r.set.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

// localServer declares the test server as a local one.
func localServer(name, mode string, more ...any) Server {
	m := map[string]any{"command": os.Args[0], "args": []any{"mcp-server", mode}}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return Parse(name, m)
}

func (r *rig) sync(list ...Server) {
	r.t.Helper()
	for i, s := range list {
		list[i] = s.Expand(func(string) (string, bool) { return "", false })
	}
	r.servers.Sync(list, r.home, func(Server) string { return "" })
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.NewTimer(30*time.Second)
	defer tick.Stop()
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func (r *rig) info(name string) tools.ServerInfo {
	for _, i := range r.servers.List() {
		if i.Name == name {
			return i
		}
	}
	return tools.ServerInfo{}
}

func (r *rig) until(name string, phase Phase) tools.ServerInfo {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%s is %s", name, phase), func() bool { return r.info(name).State == string(phase) })
	return r.info(name)
}

// names are the tools of servers that the model is offered.
func (r *rig) names() string {
	var out []string
	for _, d := range r.set.Definitions() {
		if strings.HasPrefix(d.Name, namePrefix) {
			out = append(out, d.Name)
		}
	}
	return strings.Join(out, " ")
}

func (r *rig) run(ctx context.Context, name, text string) tools.Result {
	args, _ := json.Marshal(map[string]string{"text": text})
	if text == "" {
		args = []byte(`{}`)
	}
	return r.set.Run(ctx, "s", tools.Call{ID: "c", Name: name, Arguments: args}, nil)
}

func (r *rig) mustRun(name, text string) string {
	r.t.Helper()
	res := r.run(r.t.Context(), name, text)
	if res.IsError {
		r.t.Fatalf("%s: %s", name, res.Content)
	}
	return res.Content
}

func (r *rig) path(name string) string { return filepath.Join(r.home, name) }

// begin runs the tool that waits, and returns once it has begun: finish lets it go on and gives the result.
func (r *rig) begin(ctx context.Context, tool, file string) (finish func() tools.Result, result <-chan tools.Result) {
	r.t.Helper()
	done := make(chan tools.Result, 1)
	go func() { done <- r.run(ctx, tool, r.path(file)) }()
	eventually(r.t, "the call has begun", func() bool { _, err := os.Stat(r.path(file)); return err == nil })
	return func() tools.Result {
		if err := os.Remove(r.path(file)); err != nil {
			r.t.Fatal(err)
		}
		return <-done
	}, done
}
