package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

// step makes a view look at its file again, as 5 microseconds do.
func step(c *testclock.FakePassiveClock) { c.SetTime(c.Now().Add(recheckAfter)) }

// oldFile writes a file whose mtime lies back far enough that its stamp is trusted.
func oldFile(t *testing.T, path, content string, age time.Duration) {
	t.Helper()
	mustWrite(t, path, content)
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestView_SameObjectUntilEdited_M7(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	oldFile(t, path, "a: 1\n", time.Hour)
	c := testclock.NewFakePassiveClock(time.Now())
	v := NewView(path, c)
	first := v.Config()
	for range 3 {
		step(c)
		if v.Config() != first {
			t.Fatal("M-7: a miss and later hits are not the same object")
		}
	}
	oldFile(t, path, "a: 2\n", time.Minute)
	if v.Config() != first {
		t.Error("the file is looked at inside the window: the gate is not there")
	}
	step(c)
	second := v.Config()
	if n, _ := second.Int("a"); n != 2 || second == first {
		t.Errorf("M-7: an edit is not visible on the next read: %d", n)
	}
	oldFile(t, path, "a: 3\n", time.Minute)
	v.Invalidate()
	if n, _ := v.Config().Int("a"); n != 3 {
		t.Errorf("an announced edit is not visible at once: %d", n)
	}
	if n, _ := first.Int("a"); n != 1 {
		t.Error("an earlier reading changed")
	}
}

// An edit that keeps size and mtime is seen: by inode when the file is replaced, by ctime when it is not.
func TestView_EditWithSameSizeAndTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	when := time.Now().Add(-time.Hour)
	write := func(path, content string) {
		mustWrite(t, path, content)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "a: 1\n")
	c := testclock.NewFakePassiveClock(time.Now())
	v := NewView(path, c)
	v.Config()
	write(path+".new", "a: 2\n")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	step(c)
	if n, _ := v.Config().Int("a"); n != 2 {
		t.Errorf("replaced file: %d", n)
	}
}

// A file written within the last 10 ms is read again even when its stamp is the same: the next write in the same
// kernel tick would look alike.
func TestView_RacyFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	mustWrite(t, path, "a: 1\n")
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	c := testclock.NewFakePassiveClock(fi.ModTime().Add(time.Millisecond))
	v := NewView(path, c)
	first := v.Config()
	// The stamp that a second write in the same tick would leave.
	v.file.current.Load().raw = []byte("a: 0\n")
	step(c)
	second := v.Config()
	if second == first {
		t.Error("a racy file was not read again")
	}
	step(c)
	if v.Config() != second {
		t.Error("the same bytes gave another object")
	}
	c.SetTime(fi.ModTime().Add(time.Second))
	v.Config() // settles
	settled := v.file.current.Load()
	settled.raw = []byte("a: 0\n")
	step(c)
	if v.Config() != second {
		t.Error("a settled file is read again and again")
	}
}

func TestView_BadFile_M8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	c := testclock.NewFakePassiveClock(time.Now())
	v := NewView(path, c)
	if v.Config() == nil || v.Config().Bool("a") || v.Err() != nil {
		t.Error("no file is not an empty config")
	}
	for _, bad := range []string{"a: [", "- x\n", "a: 1\na: 2\n"} {
		oldFile(t, path, "a: true\n", time.Hour)
		step(c)
		good := v.Config()
		if !good.Bool("a") || v.Err() != nil {
			t.Fatalf("not read: %v", v.Err())
		}
		oldFile(t, path, bad, time.Minute)
		step(c)
		if got, err := v.Read(); got != good || err == nil {
			t.Errorf("%q: not the last good one with an error: %v", bad, err)
		}
		step(c)
		if v.Err() == nil {
			t.Errorf("%q: the error went away by itself", bad)
		}
	}
	oldFile(t, path, "a: true\n", time.Hour)
	step(c)
	if v.Err() != nil {
		t.Error("a corrected file is still an error")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	step(c)
	if v.Config().Bool("a") || v.Err() != nil {
		t.Error("a deleted file still grants what it granted")
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	step(c)
	if v.Err() == nil {
		t.Error("an unreadable file is no error")
	}
}

func TestConfig_LiteralTrue_M2(t *testing.T) {
	for text, want := range map[string]bool{
		"x: {on: true}": true, "x: {on: false}": false, "x: {on: 'true'}": false, "x: {on: yes}": false, "x: {on: 1}": false, "x: {on: null}": false,
		"x: true": false, "x: [true]": false, "": false, "x:": false,
	} {
		c, err := ParseConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Bool("x", "on"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	c, err := ParseConfig([]byte("s: text\nn: 7\nf: 1.5\nl: [a, 1, b]\noff: false\nd: {size: 3, name: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	n, ok := c.Int("n")
	f, fok := c.Float("f")
	_, notInt := c.Int("f")
	if c.String("s") != "text" || c.String("n") != "" || n != 7 || !ok || f != 1.5 || !fok || notInt || strings.Join(c.Strings("l"), "") != "ab" || strings.Join(c.Strings("s"), "") != "text" || !c.IsFalse("off") || c.IsFalse("none") {
		t.Errorf("accessors: %+v", c)
	}
	if ids, err := ParseConfig([]byte("chats: {-100123: {name: x}}\n7: y\n")); err != nil || ids.String("chats", "-100123", "name") != "x" || ids.String("7") != "y" {
		t.Errorf("numbers as keys: %v", err)
	}
	into := struct {
		Size  int    `yaml:"size"`
		Other string `yaml:"other"`
	}{Other: "default"}
	if err := c.Decode(&into, "d"); err != nil || into.Size != 3 || into.Other != "default" {
		t.Errorf("%+v %v", into, err)
	}
}

// Readers never see a half-written file, an old value after a new one, or a nil, while a writer replaces it.
func TestView_ConcurrentReaders(t *testing.T) {
	root := t.TempDir()
	b := testBundle("")
	b.Documents = nil
	paths := mustMaterialise(t, root, b, options()).Paths
	v := NewView(paths.Config(), clock.RealClock{})
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := int64(-1)
			for {
				select {
				case <-done:
					return
				default:
				}
				r := v.file.get() // the file alone: what is declared would hide a torn one
				n, _ := r.value.Int("n")
				if r.err != nil || n < last {
					t.Errorf("read %d after %d: %v", n, last, r.err)
					return
				}
				last = n
			}
		})
	}
	for n := range int64(40) {
		b.Config["n"] = n
		mustMaterialise(t, root, b, options())
		v.Declare(mustDeclare(t, b))
		if got, _ := v.Config().Int("n"); got != n {
			t.Errorf("own write %d is read as %d", n, got)
		}
	}
	close(done)
	readers.Wait()
}

func TestDerive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	oldFile(t, path, "on: true\n", time.Hour)
	c := testclock.NewFakePassiveClock(time.Now())
	runs := 0
	gate := Derive(NewView(path, c), func(c *Config, err error) bool { runs++; return err == nil && c.Bool("on") })
	for range 5 {
		step(c)
		if !gate.Get() {
			t.Fatal("off")
		}
	}
	if runs != 1 {
		t.Errorf("computed %d times for one reading", runs)
	}
	oldFile(t, path, "on: [\n", time.Minute)
	step(c)
	if gate.Get() {
		t.Error("M-8: on while the file cannot be read")
	}
	oldFile(t, path, "on: true\n", time.Second)
	step(c)
	if !gate.Get() {
		t.Error("off after it was corrected")
	}
}

// reportCPU adds the CPU time of one operation, which a busy machine does not inflate as it does ns/op.
func reportCPU(b *testing.B, run func()) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	run()
	b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op")
}

func BenchmarkView(b *testing.B) {
	path := filepath.Join(b.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("telemetry: {shared_metrics: {enabled: true}}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		b.Fatal(err)
	}
	b.Run("gate", func(b *testing.B) {
		v := NewView(path, clock.RealClock{})
		on := 0
		reportCPU(b, func() {
			for b.Loop() {
				if v.Config().Bool("telemetry", "shared_metrics", "enabled") {
					on++
				}
			}
		})
		if on == 0 {
			b.Fatal("never on")
		}
	})
	b.Run("derived", func(b *testing.B) {
		gate := Derive(NewView(path, clock.RealClock{}), func(c *Config, err error) bool {
			return err == nil && c.Bool("telemetry", "shared_metrics", "enabled")
		})
		reportCPU(b, func() {
			for b.Loop() {
				if !gate.Get() {
					b.Fatal("off")
				}
			}
		})
	})
	b.Run("config", func(b *testing.B) {
		v := NewView(path, clock.RealClock{})
		reportCPU(b, func() {
			for b.Loop() {
				v.Config()
			}
		})
	})
	b.Run("stat", func(b *testing.B) {
		v := NewView(path, clock.RealClock{})
		reportCPU(b, func() {
			for b.Loop() {
				v.Invalidate()
				v.Config()
			}
		})
	})
	b.Run("reread", func(b *testing.B) {
		for b.Loop() {
			NewView(path, clock.RealClock{}).Config()
		}
	})
}

// Rows 14 to 16: a profile's secrets come from its own .env and from nowhere else, in a process whose environment
// and whose other profile are full of tempting values.
func TestSecrets_HostileEnvironment_Rows14to16(t *testing.T) {
	root := t.TempDir()
	for _, key := range []string{"API_KEY", "ONLY_DEFAULT", "HERMES_MODEL_API_KEY", "ALLOWED_USERS"} {
		t.Setenv(key, "from-the-process")
	}
	def := Bundle{Version: 1, Namespace: "n", Profile: "default", Gateway: "g", Config: map[string]any{},
		Env: []EnvEntry{{"API_KEY", "default's"}, {"ONLY_DEFAULT", "default's"}, {"HERMES_MODEL_API_KEY", "default's"}, {"ALLOWED_USERS", "default's"}}}
	work := Bundle{Version: 1, Namespace: "n", Profile: "work", Gateway: "g", Config: map[string]any{}, Env: []EnvEntry{{"API_KEY", "work's"}}}
	defPaths := mustMaterialise(t, root, def, options()).Paths
	workPaths := mustMaterialise(t, root, work, options()).Paths
	c := testclock.NewFakePassiveClock(time.Now())
	defSecrets, workSecrets := NewEnvView(defPaths, c), NewEnvView(workPaths, c)

	if v, err := workSecrets.Lookup("API_KEY"); v != "work's" || err != nil {
		t.Errorf("%q %v", v, err)
	}
	if v, err := defSecrets.Lookup("API_KEY"); v != "default's" || err != nil {
		t.Errorf("%q %v", v, err)
	}
	var missing *ErrSecretMissing
	for _, key := range []string{"ONLY_DEFAULT", "HERMES_MODEL_API_KEY", "ALLOWED_USERS", "PATH"} {
		if v, err := workSecrets.Lookup(key); !errors.As(err, &missing) || v != "" || missing.Home != workPaths.Home {
			t.Errorf("row 14: %s = %q, %v", key, v, err)
		}
	}
	if keys, err := ModelKeys(workSecrets, 0); len(keys) != 0 || err != nil {
		t.Errorf("row 16: %v %v", keys, err)
	}
	if v, err := Expand("Bearer ${ONLY_DEFAULT}", workSecrets); !errors.As(err, &missing) || v != "" {
		t.Errorf("row 16: expanded to %q, %v", v, err)
	}
	if env, err := workSecrets.Environment(); err != nil || strings.Join(env, " ") != "API_KEY=work's" {
		t.Errorf("environment %v %v", env, err)
	}
	if env, _ := defSecrets.Environment(); strings.Contains(strings.Join(env, " "), "HERMES_") {
		t.Errorf("the model's key reaches tools: %v", env)
	}

	// Row 15: an error is an error, not another profile's value and not the old one.
	mustWrite(t, workPaths.Env(), "API_KEY='half\n")
	workSecrets.Invalidate()
	if v, err := workSecrets.Lookup("API_KEY"); err == nil || errors.As(err, &missing) || v != "" {
		t.Errorf("row 15: %q %v", v, err)
	}
	if _, err := ModelKeys(workSecrets, 0); err == nil {
		t.Error("row 15: unreadable secrets look like none")
	}
	if _, err := workSecrets.Environment(); err == nil {
		t.Error("row 15: unreadable secrets look like none")
	}
	// A revoked secret is gone at once.
	work.Env = nil
	mustMaterialise(t, root, work, options())
	workSecrets.Invalidate()
	if v, err := workSecrets.Lookup("API_KEY"); !errors.As(err, &missing) || v != "" {
		t.Errorf("revoked: %q %v", v, err)
	}
	if err := os.Remove(workPaths.Env()); err != nil {
		t.Fatal(err)
	}
	workSecrets.Invalidate()
	if _, err := workSecrets.Lookup("API_KEY"); !errors.As(err, &missing) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestModelKeysAndExpand(t *testing.T) {
	root := t.TempDir()
	b, err := Render(fullProfile(), fullResolved())
	if err != nil {
		t.Fatal(err)
	}
	b.WorkspaceDirectory, b.Documents = "", nil
	s := NewEnvView(mustMaterialise(t, root, b, options()).Paths, clock.RealClock{})
	first, err := ModelKeys(s, 0)
	if err != nil || strings.Join(first, ",") != "sk-a,sk-b" {
		t.Errorf("%v %v", first, err)
	}
	fallback, err := ModelKeys(s, 1)
	if err != nil || strings.Join(fallback, ",") != "sk-c,sk-d" {
		t.Errorf("%v %v", fallback, err)
	}
	if none, err := ModelKeys(s, 2); len(none) != 0 || err != nil {
		t.Errorf("%v %v", none, err)
	}
	if v, err := Expand("a ${HERMES_MCP_REMOTE_AUTHORIZATION} ${PLAIN} $PLAIN", s); v != "a Bearer secret-auth x y $PLAIN" || err != nil {
		t.Errorf("%q %v", v, err)
	}
}
