package gateway

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// ownerless watches who answers for a home, and remembers the longest time that nobody did and every run it saw.
type ownerless struct {
	longest time.Duration
	runs    map[string]bool
}

func (o *ownerless) watch(ctx context.Context, home string, ready chan<- string) {
	o.runs = map[string]bool{}
	last := time.Now()
	for ctx.Err() == nil {
		client := host.NewClient(home)
		client.Timeout = 500 * time.Millisecond
		if id, err := client.Identify(ctx); err == nil {
			o.longest = max(o.longest, time.Since(last))
			last = time.Now()
			if !o.runs[id.RunID] {
				o.runs[id.RunID] = true
				ready <- id.RunID
			}
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// TestZeroLossRestart: under a stream of messages a gateway restarts three times. Turns in flight finish, messages that
// come meanwhile wait for the successor, none is lost or answered twice, and nobody owns the home for at most 2 s.
func TestZeroLossRestart(t *testing.T) {
	t.Run("the same process goes on", func(t *testing.T) {
		zeroLoss(t, func(gw *child, _, _ string) *child {
			if err := gw.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			return gw
		})
	})
	t.Run("another process follows, as under the engine", func(t *testing.T) {
		zeroLoss(t, func(gw *child, root, locks string) *child {
			if _, err := host.NewClient(root).Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if code := gw.wait(t); code != 0 {
				t.Fatalf("ended with %d", code)
			}
			next := startChild(t, root, locks)
			next.fire(t)
			return next
		})
	})
}

func zeroLoss(t *testing.T, restart func(gw *child, root, locks string) *child) {
	t.Helper()
	const restarts, talkers, slow = 3, 6, 120 * time.Millisecond
	model, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	root, locks := hostRoot(t, "{}\n")
	profilehome.Write(t, root, "alice", profilehome.Model(model.URL(), "sk"))
	write(t, filepath.Join(root, "config.yaml"), "gateway: {multiplex_profiles: true}\n")

	var mu sync.Mutex
	asked := map[string]int{}
	model.Respond(func(r fakemodel.Request) fakemodel.Turn {
		said := ""
		for _, m := range r.Parsed.Decoded() {
			if m.Role == "user" {
				said = m.Content
			}
		}
		mu.Lock()
		asked[said]++
		mu.Unlock()
		gate := make(chan struct{})
		time.AfterFunc(slow, func() { close(gate) })
		answer := fakemodel.Text("re: " + said)
		answer.Gate = gate
		return answer
	})

	gw := startChild(t, root, locks)
	gw.fire(t)
	watching, stopWatching := context.WithCancel(t.Context())
	defer stopWatching()
	runs := make(chan string, 16)
	var gap ownerless
	var watch sync.WaitGroup
	watch.Go(func() { gap.watch(watching, root, runs) })
	awaitRun(t, runs)

	// Talkers speak until the last restart is over, each in a session of its own.
	var stop atomic.Bool
	var talk sync.WaitGroup
	sent := make([]int, talkers)
	sessions := make([]string, talkers)
	for i := range talkers {
		talk.Go(func() {
			client := localapi.NewClient(localapi.SocketPath(root, ""), "")
			client.Patience = 20 * time.Second
			defer client.Close()
			for n := 0; !stop.Load(); n++ {
				text := fmt.Sprintf("message %d of talker %d", n, i)
				request := localapi.CompletionRequest{
					Model: "alice", Messages: []localapi.RequestMessage{{Role: "user", Content: localapi.Content(text)}},
					Hermes: &localapi.Extension{Session: sessions[i]},
				}
				final, err := client.Stream(t.Context(), request, func(localapi.StreamItem) {})
				if err != nil || final.Reply != "re: "+text {
					t.Errorf("%s: %q %v", text, final.Reply, err)
					return
				}
				sessions[i], sent[i] = final.Session, n+1
			}
		})
	}
	for range restarts {
		awaitTurn(t, root)
		gw = restart(gw, root, locks)
		awaitRun(t, runs)
	}
	awaitTurn(t, root)
	stop.Store(true)
	talk.Wait()
	stopWatching()
	watch.Wait()

	total := 0
	client := localapi.NewClient(localapi.SocketPath(root, ""), "")
	defer client.Close()
	for i, n := range sent {
		total += n
		detail, err := client.Session(t.Context(), "alice", sessions[i])
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]int{}
		for _, row := range detail.Transcript {
			rows[row.Content]++
		}
		for m := range n {
			text := fmt.Sprintf("message %d of talker %d", m, i)
			if asked[text] != 1 || rows[text] != 1 || rows["re: "+text] != 1 {
				t.Errorf("%s: asked %d times, stored %d times, answered %d times", text, asked[text], rows[text], rows["re: "+text])
			}
		}
	}
	if gap.longest > 2*time.Second || len(gap.runs) != restarts+1 {
		t.Errorf("nobody answered for %s, over %d runs", gap.longest, len(gap.runs))
	}
	t.Logf("%d messages over %d restarts; at most %s without an owner", total, restarts, gap.longest)
	if code := gw.end(t); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

func awaitRun(t *testing.T, runs <-chan string) {
	t.Helper()
	select {
	case <-runs:
	case <-time.After(30 * time.Second):
		t.Fatal("no new run answers")
	}
}

// awaitTurn waits until turns are in flight.
func awaitTurn(t *testing.T, root string) {
	t.Helper()
	for over := time.Now().Add(20 * time.Second); time.Now().Before(over); {
		if s, err := host.NewClient(root).Status(t.Context()); err == nil && s.ActiveAgents > 1 {
			return
		}
		<-time.After(2 * time.Millisecond)
	}
	t.Fatal("no turn in flight")
}
