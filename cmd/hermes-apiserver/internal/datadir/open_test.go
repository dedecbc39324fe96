package datadir

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestOpenPrepares(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "data")
	d, err := Open(path, noon)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // the test ends
	for _, dir := range d.directories() {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want mode 0700", dir, info, err)
		}
	}
	raw, err := os.ReadFile(d.Format())
	if err != nil || strings.TrimSpace(string(raw)) != strconv.Itoa(FormatVersion) {
		t.Errorf("format file %q, %v", raw, err)
	}
	owner := readOwner(d.Lock())
	if owner.PID != os.Getpid() || owner.StartTime != startTime() || !owner.Since.Equal(noon) {
		t.Errorf("owner %+v", owner)
	}
}

func TestOpenIsExclusive(t *testing.T) {
	path := t.TempDir()
	first, err := Open(path, noon)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, noon)
	if refuse.Code(err) != refuse.ExitBusy || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Fatalf("second: %v (exit %d), want a refusal that names the owner", err, refuse.Code(err))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, noon)
	if err != nil {
		t.Fatalf("after the first is closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenFormats(t *testing.T) {
	for _, tc := range []struct {
		format string
		code   int
		says   string
	}{
		{"1\n", 0, ""},
		{"1", 0, ""},
		{"2\n", refuse.ExitConfig, "install a newer hermes"},
		{"0\n", refuse.ExitConfig, "not a format number"},
		{"", refuse.ExitConfig, "not a format number"},
	} {
		path := t.TempDir()
		if err := os.WriteFile(Layout{Dir: path}.Format(), []byte(tc.format), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path, noon)
		if refuse.Code(err) != tc.code || (err != nil && !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("format %q: %v (exit %d), want exit %d and %q", tc.format, err, refuse.Code(err), tc.code, tc.says)
		}
		if err != nil {
			if _, err := os.Stat(filepath.Join(path, "pki")); err == nil {
				t.Errorf("format %q: a refused directory was changed", tc.format)
			}
			continue
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below"), "/proc/hermes"} {
		if _, err := Open(path, noon); refuse.Code(err) != refuse.ExitConfig || !strings.Contains(err.Error(), "--data-dir") {
			t.Errorf("%s: %v (exit %d), want a refusal that says what to change", path, err, refuse.Code(err))
		}
	}
}
