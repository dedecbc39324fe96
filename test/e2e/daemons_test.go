package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hermes.dev/hermes/test/fakemodel"
)

// hiddenDaemon is a terminal call that leaves a daemon with nothing to find it by: it forked twice, left the session,
// cleared its environment and closed its output. The command goes on with rest once the daemon's pid is in pidFile.
func hiddenDaemon(t *testing.T, pidFile, rest string) fakemodel.Turn {
	t.Helper()
	command := fmt.Sprintf(`P=%s; env -i P=$P PATH=$PATH setsid sh -c 'setsid sh -c "echo \$\$ > $P; exec sleep 1000" </dev/null >/dev/null 2>&1 &' </dev/null >/dev/null 2>&1
while ! [ -s $P ]; do :; done
%s`, pidFile, rest)
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return fakemodel.Calls(fakemodel.ToolCall{ID: "1", Name: "terminal", Arguments: string(arguments)})
}

// pidIn waits for a pid in a file.
func pidIn(t *testing.T, path string) (pid int) {
	t.Helper()
	await(t, "a pid in "+path, func() string {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err.Error()
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(string(raw))); err != nil {
			return err.Error()
		}
		return ""
	})
	return pid
}

// TestHiddenDaemonsEnd: G9, with a real gateway and without a cgroup: a daemon that hides ends with its call, with a stop
// of its gateway, and when the gateway is killed.
func TestHiddenDaemonsEnd(t *testing.T) {
	c := started(t)
	k, m := c.Client(), model(t)
	c.Apply(profileYAML("one", m.URL(), "  approvals: {mode: Allow}\n"))
	gw := gateway("default")
	AwaitReady(c, k, profile("one"), gw)
	pidFile := func(name string) string { return filepath.Join(c.Dir, name) }

	m.Script(hiddenDaemon(t, pidFile("call"), "echo done"))
	if _, err := c.Turn("one", "", "start it"); err != nil {
		t.Fatal(err)
	}
	if pid := pidIn(t, pidFile("call")); running(pid) {
		t.Errorf("daemon %d outlived its call", pid)
		kill9(pid)
	}
	endsDaemon(c, m, "killed", pidFile("killed"), func() { c.Kill9(int(gw.Status.Instance.PID)) })
	await(t, "an answer of the next gateway", func() string {
		if _, err := c.Turn("one", "", "hello"); err != nil {
			return err.Error()
		}
		return ""
	})
	endsDaemon(c, m, "stopped", pidFile("stopped"), func() { c.Down() })
}

// endsDaemon starts a turn whose command does not end, and holds end to ending its daemon.
func endsDaemon(c *Cluster, m *fakemodel.Server, name, pidFile string, end func()) {
	c.t.Helper()
	var turn sync.WaitGroup
	m.Script(hiddenDaemon(c.t, pidFile, "exec sleep 1000"))
	turn.Go(func() { _, _ = c.Turn("one", "", "start another") })
	pid := pidIn(c.t, pidFile)
	end()
	turn.Wait()
	await(c.t, "the daemon of a gateway that was "+name+" to end", func() string {
		if running(pid) {
			return fmt.Sprintf("process %d runs", pid)
		}
		return ""
	})
}
