package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/test/controlplane"
)

// programName is how the test binary is called when it is to be hermes itself, with everything hermes starts.
const programName = "hermes"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == programName {
		main()
		return
	}
	if path := os.Getenv(ownerEnv); path != "" {
		os.Exit(ownStore(path))
	}
	os.Exit(m.Run())
}

// machine is a place where hermes is installed and nothing has run yet.
type machine struct {
	t             *testing.T
	program, data string
	home          string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	apiserver, err := controlplane.Binary()
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: a test's long name would not leave room for a socket's path.
	dir, err := os.MkdirTemp("", "hermes-cli-")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, program: filepath.Join(dir, programName), data: filepath.Join(dir, "data"), home: filepath.Join(dir, "home")}
	if err := os.Mkdir(m.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, m.program); err != nil { // a copy where the disks differ
		raw, readErr := os.ReadFile(self)
		if err := errors.Join(readErr, os.WriteFile(m.program, raw, 0o700)); err != nil { // a program
			t.Fatal(err)
		}
	}
	if err := os.Symlink(apiserver, filepath.Join(dir, "hermes-apiserver")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r := m.run("down"); r.code != 0 {
			t.Errorf("down: %s", r)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return m
}

// result is what a command line did.
type result struct {
	args           []string
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return fmt.Sprintf("hermes %s: exit %d\n%s%s", strings.Join(r.args, " "), r.code, r.stdout, r.stderr)
}

func (m *machine) run(args ...string) result { return m.input("", args...) }

func (m *machine) input(stdin string, args ...string) result {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.program, args...)
	// The environment is made, not inherited: whoever runs the tests has a data directory and a cluster of their own.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "HERMES_DATA=" + m.data, "LANG=C.UTF-8"}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		m.t.Fatalf("hermes %v: %v", args, err)
	}
	return result{args, stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// must is run for what has to work.
func (m *machine) must(args ...string) result {
	m.t.Helper()
	r := m.run(args...)
	if r.code != 0 {
		m.t.Fatal(r)
	}
	return r
}

// await runs a command until it does what is wanted.
func (m *machine) await(want func(result) bool, args ...string) result {
	m.t.Helper()
	var last result
	err := wait.PollUntilContextTimeout(m.t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = m.run(args...)
		return want(last), nil
	})
	if err != nil {
		m.t.Fatalf("%v: last was %s", err, last)
	}
	return last
}

// field reads one field of an object, such as gateway/default .status.instance.pid.
func (m *machine) field(object, path string) string {
	m.t.Helper()
	return m.must("get", object, "-o", "jsonpath={"+path+"}").stdout
}

func contains(r result, want ...string) error {
	for _, w := range want {
		if !strings.Contains(r.stdout+r.stderr, w) {
			return fmt.Errorf("%q is missing in %s", w, r)
		}
	}
	return nil
}

// In-process: what needs no control plane.
func runHere(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), &cli{
		in: strings.NewReader(""), out: &stdout, err: &stderr, clock: clock.RealClock{},
		getenv: func(k string) string { return env[k] },
	}, args)
	return result{args, stdout.String(), stderr.String(), code}
}

func TestUsageErrors(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown verb":                 {[]string{"frobnicate"}, 2, `unknown command "frobnicate"`},
		"a verb that looks like one":   {[]string{"statsu"}, 2, `unknown command "statsu": did you mean hermes status?`},
		"a gateway verb like one":      {[]string{"gateway", "restrat"}, 2, `unknown command "restrat": did you mean hermes gateway restart?`},
		"status of two things":         {[]string{"status", "profile/a", "b"}, 2, `unexpected argument "b"`},
		"status of three things":       {[]string{"status", "profile", "a", "b"}, 2, `unexpected argument "b"`},
		"status as get takes it":       {[]string{"status", "profile", "alice", "-A"}, 2, "leave profile/alice out"},
		"--version":                    {[]string{"--version"}, 0, "hermes " + currentVersion().Version},
		"unknown flag":                 {[]string{"status", "--frob"}, 2, "unknown flag: --frob"},
		"unknown output":               {[]string{"status", "-o", "xml"}, 2, "-o xml: use json"},
		"status of what":               {[]string{"status", "alice"}, 2, "is not KIND/NAME"},
		"status of an unknown kind":    {[]string{"status", "pod/x"}, 2, "is not KIND/NAME"},
		"apply of what":                {[]string{"apply"}, 2, "name what to apply with -f"},
		"prune of stdin has no name":   {[]string{"apply", "-f", "-", "--prune"}, 2, "--set NAME"},
		"set without prune":            {[]string{"apply", "-f", "x", "--set", "y"}, 2, "--set is for --prune"},
		"the watched set is taken":     {[]string{"apply", "-f", "x", "--prune", "--set", "manifests"}, 2, "belongs to hermes up --manifests"},
		"argument too many":            {[]string{"up", "now"}, 2, `unexpected argument "now"`},
		"manifests that are not":       {[]string{"up", "--manifests", "/does/not/exist"}, 2, "--manifests: "},
		"get of what":                  {[]string{"get"}, 2, "name a kind"},
		"nothing runs":                 {[]string{"status"}, 2, "no control plane found (data directory " + env["HOME"] + "/.local/state/hermes holds none; KUBECONFIG is not set; " + env["HOME"] + "/.kube/config is not there): start one with hermes up, or name one with --data, HERMES_DATA, --kubeconfig or KUBECONFIG"},
		"nothing runs where named":     {[]string{"status", "--data", "/does not/exist"}, 2, "no control plane found (data directory /does not/exist holds none): start one with hermes --data '/does not/exist' up"},
		"nothing runs for get":         {[]string{"get", "profiles"}, 2, "start one with hermes up"},
		"no kubeconfig yet":            {[]string{"kubeconfig"}, 2, "start one with hermes up"},
		"a kubeconfig that is not":     {[]string{"--kubeconfig", "/does/not/exist", "status"}, 2, "--kubeconfig: stat /does/not/exist"},
		"no program to start":          {[]string{"up", "--apiserver-binary", "/does/not/exist"}, 78, "build it with 'make build'"},
		"metrics for everybody":        {[]string{"up", "--metrics-address", ":9090"}, 78, `--metrics-address ":9090" is not a loopback address: use 127.0.0.1:9090`},
		"health for everybody":         {[]string{"up", "--detach", "--health-address", "0.0.0.0:9091"}, 78, `--health-address "0.0.0.0:9091" is not a loopback address: use 127.0.0.1:9091`},
		"metrics without a port":       {[]string{"up", "--metrics-address", "localhost"}, 78, `--metrics-address "localhost" is not HOST:PORT`},
		"down when nothing runs":       {[]string{"down"}, 0, ": name another data directory with --data or HERMES_DATA"},
		"help says what it does":       {[]string{"up", "--help"}, 0, "--detach"},
		"version says its API":         {[]string{"version"}, 0, "api hermes.dev/v1alpha1"},
		"completion of what is none":   {[]string{"completion", "tcsh"}, 2, `unknown command "tcsh": did you mean hermes completion bash or zsh or fish?`},
		"show what":                    {[]string{"sessions", "show"}, 2, "hermes sessions show takes SESSION"},
		"enable what":                  {[]string{"tools", "enable"}, 2, "hermes tools enable takes TOOLSET..."},
		"completion says how":          {[]string{"completion"}, 0, "bash"},
		"help about what is none":      {[]string{"help", "nosuch"}, 2, `unknown command "nosuch"`},
		"help about no sub-verb":       {[]string{"help", "gateway", "nosuch"}, 2, `unknown command "nosuch" for "hermes gateway"`},
		"help about a sub-verb":        {[]string{"help", "gateway", "restart"}, 0, "turns in flight are finished first"},
		"help":                         {[]string{"help"}, 0, "Agents:"},
		"delete of an empty directory": {[]string{"delete", "-f", env["HOME"]}, 1, "holds no *.yaml, *.yml or *.json file"},
		"completion knows the shells":  {[]string{"completion", "bash"}, 0, "bash completion"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runHere(t, env, tc.args...)
			if r.code != tc.code {
				t.Errorf("exit %d, want %d: %s", r.code, tc.code, r)
			}
			if err := contains(r, tc.want); err != nil {
				t.Error(err)
			}
			if tc.code != 0 && strings.Count(strings.TrimSpace(r.stderr), "\n") > 1 {
				t.Errorf("more than one line and a hint: %s", r)
			}
		})
	}
}

func TestVersionJSON(t *testing.T) {
	var v versionInfo
	r := runHere(t, nil, "version", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || v.Version == "" || v.Revision == "" || v.GoVersion == "" || v.APIVersion != "hermes.dev/v1alpha1" {
		t.Errorf("%+v, %v: %s", v, err, r)
	}
}

func TestTerminalCharacters(t *testing.T) {
	for name, tc := range map[string]struct {
		env   map[string]string
		ascii bool
	}{
		"nothing said":       {nil, true},
		"C":                  {map[string]string{"LANG": "C"}, true},
		"UTF-8":              {map[string]string{"LANG": "de_DE.UTF-8"}, false},
		"utf8":               {map[string]string{"LC_CTYPE": "C.utf8"}, false},
		"LC_ALL wins":        {map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, true},
		"LC_CTYPE over LANG": {map[string]string{"LC_CTYPE": "POSIX", "LANG": "de_DE.UTF-8"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cli{out: &bytes.Buffer{}, getenv: func(k string) string { return tc.env[k] }}
			if got := c.terminal(); got.ASCII != tc.ascii || got.Color {
				t.Errorf("terminal = %+v, want ASCII %t and no colour", got, tc.ascii)
			}
		})
	}
}

func TestWidthOfWhatIsNotATerminal(t *testing.T) {
	for columns, want := range map[string]int{"": statusview.NoLimit, "60": 60, "0": statusview.NoLimit, "wide": statusview.NoLimit} {
		c := &cli{out: &bytes.Buffer{}, getenv: func(k string) string { return map[string]string{"COLUMNS": columns}[k] }}
		if got := c.terminal().Width; got != want {
			t.Errorf("COLUMNS=%q: width %d, want %d", columns, got, want)
		}
	}
}
