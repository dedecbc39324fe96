package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/runtime/host"
)

func TestJudgements(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	gateway := &v1alpha1.Gateway{Status: v1alpha1.GatewayStatus{Home: "/h", Instance: &v1alpha1.GatewayInstance{PID: 7}}}
	for name, tc := range map[string]struct {
		got  Finding
		want Level
	}{
		"private directory":         {judgeDirectory("/d", 0o700, 1, 1), OK},
		"readable by others":        {judgeDirectory("/d", 0o755, 1, 1), Warning},
		"somebody else's":           {judgeDirectory("/d", 0o700, 0, 1), Problem},
		"not writable":              {judgeDirectory("/d", 0o500, 1, 1), Problem},
		"much space":                {judgeSpace("/d", 5<<30, 1e6, 2e6), OK},
		"little space":              {judgeSpace("/d", 500<<20, 1e6, 2e6), Warning},
		"no space":                  {judgeSpace("/d", 5<<20, 1e6, 2e6), Problem},
		"no inodes":                 {judgeSpace("/d", 5<<30, 10, 2e6), Problem},
		"inodes not counted":        {judgeSpace("/d", 5<<30, 0, 0), OK},
		"ext4":                      {judgeFilesystem("/d", "ext4", false), OK},
		"virtiofs":                  {judgeFilesystem("/d", "virtiofs", true), Warning},
		"a filesystem without name": {judgeFilesystem("/d", "", false), Warning},
		"many files":                {judgeFileLimit(1 << 20), OK},
		"few files":                 {judgeFileLimit(1024), Warning},
		"a clock":                   {judgeClock(now, now.Add(time.Second)), OK},
		"no server to compare with": {judgeClock(now, time.Time{}), OK},
		"a clock that was reset":    {judgeClock(time.Unix(0, 0), time.Time{}), Problem},
		"clocks apart":              {judgeClock(now, now.Add(time.Minute)), Warning},
		"all kinds":                 {judgeCRDs(5, nil, nil), OK},
		"older kinds":               {judgeCRDs(5, nil, []string{"x"}), Warning},
		"missing kinds":             {judgeCRDs(5, []string{"x"}, []string{"y"}), Problem},
		"gateway answers":           {judgeGateway(gateway, host.Identity{PID: 7}, nil), OK},
		"another process answers":   {judgeGateway(gateway, host.Identity{PID: 8}, nil), Problem},
		"gateway is silent":         {judgeGateway(gateway, host.Identity{}, &host.NoAnswerError{Err: errors.New("x")}), Problem},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got.Level != tc.want {
				t.Errorf("level %s, want %s: %+v", tc.got.Level, tc.want, tc.got)
			}
			if tc.got.Message == "" {
				t.Error("no message")
			}
		})
	}
}

func TestChecksOnThisMachine(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil { // what the check is to find
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".hermes"), 0o700); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "a", "b")
	for name, tc := range map[string]struct {
		check Check
		want  Level
	}{
		"no data directory yet":     {DataDirectory(missing), OK},
		"a file instead":            {DataDirectory(open), Problem},
		"an open token":             {PrivateFile("token", open), Problem},
		"no token yet":              {PrivateFile("token", missing), OK},
		"no control plane program":  {APIServerBinary(missing), Problem},
		"an unmanaged home":         {UnmanagedHome(dir), Note},
		"no home":                   {UnmanagedHome(missing), OK},
		"a gateway without process": {Gateway(&v1alpha1.Gateway{}), Warning},
		"not running":               {NotRunning("x"), Problem},
		"a check that panics":       {Check{"x", func(context.Context) Finding { panic("y") }}, Problem},
	} {
		t.Run(name, func(t *testing.T) {
			got := Run(t.Context(), []Check{tc.check})[0]
			if got.Level != tc.want || got.Check != tc.check.Name {
				t.Errorf("got %+v, want level %s", got, tc.want)
			}
		})
	}
	// Where nothing exists yet, the nearest directory that does tells of the disk.
	for _, check := range []Check{Space(missing), Filesystem(missing)} {
		if f := check.Run(t.Context()); strings.Contains(f.Message, "cannot be told") {
			t.Errorf("%s: %+v", check.Name, f)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the checks left %v, %v: they must only read", entries, err)
	}
}

func TestStandsAndRender(t *testing.T) {
	findings := []Finding{
		{Check: "a", Level: OK, Message: "fine"}, {Check: "bb", Level: Note, Message: "note"},
		{Check: "c", Level: Warning, Message: strings.Repeat("long ", 30), Remedy: "do this"}, {Check: "d", Level: Problem, Message: "bad"},
	}
	if n := Stands(findings); n != 2 {
		t.Errorf("Stands = %d, want 2", n)
	}
	got := Render(findings, statusview.Terminal{Width: 60})
	want := `✓ a   fine
– bb  note
◌ c   long long long long long long long long long long long
      long long long long long long long long long long long
      long long long long long long long long
      → do this
✗ d   bad
`
	if got != want {
		t.Errorf("Render =\n%s\nwant\n%s", got, want)
	}
}
