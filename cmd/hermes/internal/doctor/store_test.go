package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/store"
)

func TestJudgeStores(t *testing.T) {
	gateway := store.Holder{PID: 7, Command: "hermes gateway run", Files: []string{"state.db"}}
	chat := store.Holder{PID: 9, Command: "python hermes chat", Files: []string{"state.db"}}
	hidden := store.Holder{PID: 11, Uninspectable: "permission denied"}
	quiet := storeView{path: "/h/state.db", holders: []store.Holder{gateway}}
	cases := []struct {
		id    string
		views []storeView
		level Level
		says  []string
	}{
		{"no stores", nil, OK, []string{"none yet"}},
		{"nobody", []storeView{{path: "/h/state.db"}}, OK, []string{"1, in use by nobody"}},
		{"the gateway alone", []storeView{quiet}, OK, []string{"1, 1 in use by their gateway only"}},
		{"S-146", []storeView{{path: "/h/state.db", retired: []store.Holder{chat}, holders: []store.Holder{hidden}}}, Problem,
			[]string{"deleted log of /h/state.db", "PID 9 (python hermes chat)"}},
		{"another program", []storeView{{path: "/h/state.db", holders: []store.Holder{gateway, chat}}}, Warning, []string{"PID 9 (python hermes chat)"}},
		{"cannot be told", []storeView{{path: "/h/state.db", holders: []store.Holder{hidden}}}, Warning, []string{"permission denied"}},
		{"a capture", []storeView{{path: "/h/state.db", captures: []string{"/h/state.db.retired-wal-x"}}}, Note, []string{"/h/state.db.retired-wal-x"}},
		{"the worst of several", []storeView{
			{path: "/a", captures: []string{"x"}}, quiet, {path: "/b", holders: []store.Holder{chat}}, {path: "/c", retired: []store.Holder{chat}},
		}, Problem, []string{"/c", "2 more"}},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			got := judgeStores(c.views, 7)
			if got.Level != c.level || strings.Contains(got.Message, "PID 7 ") {
				t.Errorf("got %+v, want level %s", got, c.level)
			}
			for _, text := range c.says {
				if !strings.Contains(got.Message, text) {
					t.Errorf("%q lacks %q", got.Message, text)
				}
			}
		})
	}
	f := judgeStores([]storeView{{path: "/c", retired: []store.Holder{chat}}}, 0)
	if f.Remedy != store.FirstSteps || strings.Contains(f.Message, "fix") {
		t.Errorf("S-131: remedy %q", f.Remedy)
	}
}

// holdEnv makes the test binary a process that has the file it names open.
const holdEnv = "DOCTOR_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		os.Exit(hold(path))
	}
	os.Exit(m.Run())
}

func hold(path string) int {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = file.Close()
	return 0
}

// TestStoresOfAHome: S-146 with a real process, and nothing of the home is touched.
func TestStoresOfAHome(t *testing.T) {
	gateways := filepath.Join(t.TempDir(), "g[1]*")
	home := filepath.Join(gateways, "ns", "home")
	own, alice := filepath.Join(home, "state.db"), filepath.Join(home, "profiles", "alice", "state.db")
	for _, path := range []string{own, alice} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if got := Homes(gateways); !reflect.DeepEqual(got, []string{home}) {
		t.Fatalf("homes %v", got)
	}
	if got := storesOf(home); !reflect.DeepEqual(got, []string{own, alice}) {
		t.Fatalf("stores %v", got)
	}
	check := func() Finding { return Run(context.Background(), []Check{Stores(home)})[0] }
	if f := check(); f.Level != OK || f.Check != "stores ns/home" {
		t.Errorf("quiet: %+v", f)
	}
	log := alice + "-wal"
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+log)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("helper said %q, %v", line, err)
	}
	who := fmt.Sprintf("PID %d (", cmd.Process.Pid)
	if f := check(); f.Level != Warning || !strings.Contains(f.Message, who) {
		t.Errorf("log open elsewhere: %+v", f)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if f := check(); f.Level != Problem || !strings.Contains(f.Message, who) || f.Remedy != store.FirstSteps {
		t.Errorf("deleted log: %+v", f)
	}
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(own+".retired-wal-20261129-120000-1", 0o700); err != nil {
		t.Fatal(err)
	}
	if f := check(); f.Level != Note {
		t.Errorf("a capture: %+v", f)
	}
}
