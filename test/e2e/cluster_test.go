package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// patience bounds every wait: far above what anything takes, so that a loaded machine fails no test.
const patience = 60 * time.Second

// Cluster is one data directory with everything hermes up runs for it.
type Cluster struct {
	t *testing.T
	// Dir holds all the rest; its path is short because sockets live below it.
	Dir, Data, Home string
	// program is the hermes to run, "" for the release.
	program string
	// Env is added to the environment of every hermes command.
	Env []string
	// beforeRemoval runs at the end, when nothing runs any more.
	beforeRemoval []func()
}

// newCluster makes an empty HOME and an unused data directory. Everything is taken down at the end.
func newCluster(t *testing.T) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, Dir: dir, Data: filepath.Join(dir, "d"), Home: filepath.Join(dir, "h")}
	for _, d := range []string{c.Home, filepath.Join(dir, "t")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(c.destroy)
	return c
}

// started is newCluster with hermes up in the background.
func started(t *testing.T, args ...string) *Cluster {
	t.Helper()
	t.Parallel()
	c := newCluster(t)
	c.Up(args...)
	return c
}

func (c *Cluster) destroy() {
	if r := c.Hermes("down"); r.Code != 0 {
		c.t.Errorf("hermes down: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	left := c.processes()
	for _, p := range left {
		c.t.Errorf("process %d outlived the test: %s", p.PID, p.Cmdline)
		kill9(p.PID)
	}
	if c.t.Failed() {
		c.t.Log(c.logs())
	}
	for _, f := range c.beforeRemoval {
		f()
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		c.t.Error(err)
	}
}

// logs are the last lines of every log, for failures.
func (c *Cluster) logs() string {
	var b strings.Builder
	_ = filepath.WalkDir(c.Data, func(path string, _ os.DirEntry, _ error) error {
		if !strings.HasSuffix(path, ".log") {
			return nil
		}
		raw, _ := os.ReadFile(path)
		var lines []string
		for line := range strings.Lines(string(raw)) {
			if !strings.Contains(line, "EventSource") && !strings.Contains(line, "workers") && !strings.HasPrefix(line, "W1") && !strings.HasPrefix(line, "I1") {
				lines = append(lines, line)
			}
		}
		lines = lines[max(0, len(lines)-25):]
		b.WriteString("--- " + path + "\n" + strings.Join(lines, "") + "\n")
		return nil
	})
	return b.String()
}

// result is how a command ended.
type result struct {
	Out, Err string
	Code     int
}

func (c *Cluster) environ() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.Home, "TMPDIR=" + filepath.Join(c.Dir, "t"), "HERMES_DATA=" + c.Data, //nolint:forbidigo // the commands under test need a PATH
	}, c.Env...)
}

// Hermes runs a hermes command to its end.
func (c *Cluster) Hermes(args ...string) result { return c.HermesInput("", args...) }

// HermesInput is Hermes with something on standard input.
func (c *Cluster) HermesInput(input string, args ...string) result {
	program := c.program
	if program == "" {
		program = binary(c.t, "hermes")
	}
	return c.run(program, input, args...)
}

// Kubectl runs the real kubectl as this control plane's administrator.
func (c *Cluster) Kubectl(input string, args ...string) result {
	args = append([]string{"--kubeconfig", c.Kubeconfig(), "--cache-dir", filepath.Join(c.Dir, "kubecache")}, args...)
	return c.run(binary(c.t, "kubectl"), input, args...)
}

func (c *Cluster) run(path, input string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = c.environ()
	cmd.Dir = c.Home
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Errorf("%s %v: %v", filepath.Base(path), args, err)
	}
	return result{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// must fails the test unless the command succeeded.
func (c *Cluster) must(r result) string {
	c.t.Helper()
	if r.Code != 0 {
		c.t.Fatalf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	return r.Out
}

// Up starts hermes up in the background and returns once it is healthy.
func (c *Cluster) Up(args ...string) string {
	c.t.Helper()
	return c.must(c.Hermes(append([]string{"up", "--detach"}, args...)...))
}

// Down stops everything.
func (c *Cluster) Down(args ...string) string {
	c.t.Helper()
	return c.must(c.Hermes(append([]string{"down"}, args...)...))
}

// Apply applies manifests as a person would.
func (c *Cluster) Apply(manifests ...string) {
	c.t.Helper()
	c.must(c.HermesInput(strings.Join(manifests, "\n---\n"), "apply", "-f", "-"))
}

// Kubeconfig is the administrator's.
func (c *Cluster) Kubeconfig() string {
	return filepath.Join(c.Data, "controlplane", "kubeconfig")
}

// Config reaches the API server.
func (c *Cluster) Config() *rest.Config {
	c.t.Helper()
	path := strings.TrimSpace(c.must(c.Hermes("kubeconfig")))
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		c.t.Fatal(err)
	}
	cfg.QPS = -1
	cfg.Timeout = 10 * time.Second
	return cfg
}

// Client reads and writes objects without a cache.
func (c *Cluster) Client() client.Client {
	c.t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		c.t.Fatal(err)
	}
	k, err := client.New(c.Config(), client.Options{Scheme: scheme})
	if err != nil {
		c.t.Fatal(err)
	}
	return k
}

// statusDocument is the part of `hermes status -o json` that tests look at.
type statusDocument struct {
	Total         int `json:"total"`
	Ready         int `json:"ready"`
	NeedAttention int `json:"needAttention"`
	Objects       []struct {
		Kind, Namespace, Name, Verdict, Reason, Message, Remedy string
	} `json:"objects"`
}

// Status is what hermes status says of all namespaces.
func (c *Cluster) Status() statusDocument {
	c.t.Helper()
	r := c.Hermes("status", "-A", "-o", "json")
	var d statusDocument
	if err := json.Unmarshal([]byte(r.Out), &d); err != nil {
		c.t.Fatalf("hermes status -o json (exit %d): %v\n%s%s", r.Code, err, r.Out, r.Err)
	}
	return d
}

// GatewayHome is the default home root of a Gateway of namespace default.
func (c *Cluster) GatewayHome(gateway string) string {
	return filepath.Join(c.Data, "gateways", "default", gateway)
}

// ProfileHome is the home of a profile of the default Gateway.
func (c *Cluster) ProfileHome(name string) string {
	return filepath.Join(c.GatewayHome("default"), "profiles", name)
}

// API is a client of the API socket of the gateway that serves a home root.
func (c *Cluster) API(root string) *localapi.Client {
	k := localapi.NewClient(localapi.SocketPath(root, "/tmp"), "")
	c.t.Cleanup(k.Close)
	return k
}

// Turn says something to a profile of the default Gateway; session is empty for a new one.
func (c *Cluster) Turn(profile, session, text string) (localapi.Completion, error) {
	return turn(c.API(c.GatewayHome("default")), profile, session, text)
}

// Say is Turn in a new session that must succeed.
func (c *Cluster) Say(profile, text string) string {
	c.t.Helper()
	return say(c.t, c.API(c.GatewayHome("default")), profile, text)
}

func turn(api *localapi.Client, profile, session, text string) (localapi.Completion, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return api.Complete(ctx, localapi.CompletionRequest{
		Model: profile, Messages: []localapi.RequestMessage{{Role: "user", Content: localapi.Content(text)}},
		Hermes: &localapi.Extension{Session: session, Source: "api"},
	})
}

func say(t *testing.T, api *localapi.Client, profile, text string) string {
	t.Helper()
	answer, err := turn(api, profile, "", text)
	if err != nil {
		t.Fatalf("profile %s did not answer: %v", profile, err)
	}
	return reply(answer)
}

func reply(c localapi.Completion) string {
	if len(c.Choices) == 0 || c.Choices[0].Message == nil {
		return ""
	}
	return c.Choices[0].Message.Content
}

// code is the stable name of an API error's cause, or "".
func code(err error) string {
	var e *localapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// model starts a fake model for one test.
func model(t *testing.T) *fakemodel.Server {
	t.Helper()
	s, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// binary is a program that make build put into bin/.
func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("this suite runs the real %s: %v: run 'make build bin/kubectl' first", name, err)
	}
	return path
}
