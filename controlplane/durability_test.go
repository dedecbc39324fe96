package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const writers = 8

// writeConfigMaps creates up to total ConfigMaps from several writers until ctx ends or one fails, calls
// acknowledged after each, and returns the names the server acknowledged.
func writeConfigMaps(ctx context.Context, client kubernetes.Interface, total int, acknowledged func(count int)) []string {
	var (
		mu    sync.Mutex
		names []string
		group sync.WaitGroup
		value = strings.Repeat("v", 1024)
	)
	for w := range writers {
		group.Go(func() {
			for i := w; i < total && ctx.Err() == nil; i += writers {
				name := fmt.Sprintf("cm-%d", i)
				_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": value},
				}, metav1.CreateOptions{})
				if err != nil {
					return
				}
				mu.Lock()
				names = append(names, name)
				acknowledged(len(names))
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return names
}

func TestKillLosesNoAcknowledgedWrite(t *testing.T) {
	dir := t.TempDir()
	for round := range 2 {
		s := start(t, dir)
		client := clientset(t, restConfig(t, s))
		names := writeConfigMaps(t.Context(), client, 5000, func(count int) {
			if count == 300 {
				_ = syscall.Kill(s.PID(), syscall.SIGKILL)
			}
		})
		<-s.Done()
		if len(names) < 300 || len(names) == 5000 {
			t.Fatalf("round %d: %d writes were acknowledged; the kill did not come in between", round, len(names))
		}

		again := start(t, dir)
		client = clientset(t, restConfig(t, again))
		list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stored := map[string]bool{}
		for _, cm := range list.Items {
			stored[cm.Name] = true
		}
		for _, name := range names {
			if !stored[name] {
				t.Errorf("round %d: acknowledged %s is gone", round, name)
			}
		}
		t.Logf("round %d: %d acknowledged, %d stored", round, len(names), len(stored))
		if err := client.CoreV1().ConfigMaps("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := again.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriteAheadLogIsBounded(t *testing.T) {
	const (
		total = 5000
		limit = 16 << 20
	)
	dir := t.TempDir()
	client := clientset(t, restConfig(t, start(t, dir)))
	wal := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "db", "state.db-wal"))
		if err != nil {
			t.Error(err)
			return 0
		}
		return info.Size()
	}
	var peak int64
	began := time.Now()
	names := writeConfigMaps(t.Context(), client, total, func(count int) {
		if count%50 == 0 {
			peak = max(peak, wal())
		}
	})
	took := time.Since(began)
	if len(names) != total {
		t.Fatalf("%d of %d writes were acknowledged", len(names), total)
	}
	t.Logf("%d writes by %d writers in %s: %.0f/s, log at most %d KiB", total, writers, took.Round(time.Millisecond), total/took.Seconds(), peak>>10)
	within(t, 10*time.Second, "the log is folded back", func() (bool, error) {
		size := wal()
		return size <= limit, fmt.Errorf("%d bytes", size)
	})
}
