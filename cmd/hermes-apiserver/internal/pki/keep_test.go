package pki

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	testingclock "k8s.io/utils/clock/testing"
)

func TestKeepServerRenewsWhileRunning(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "server.pem")
	ca := authority(t, filepath.Join(dir, "ca.pem"), noon)
	if _, err := EnsureServer(path, ca, loopback, noon); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	clk := testingclock.NewFakeClock(noon)
	ended := make(chan struct{})
	go func() { defer close(ended); KeepServer(ctx, path, ca, loopback, clk, testr.New(t)) }()
	defer func() { cancel(); <-ended }()

	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if clk.HasWaiters() {
			clk.SetTime(noon.Add(serverLifetime - RenewBefore))
		}
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(now, before) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal("the certificate near its end was not renewed")
		}
	}
}
