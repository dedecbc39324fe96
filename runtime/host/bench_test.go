package host

import (
	"os"
	"testing"

	"k8s.io/utils/clock"
)

func BenchmarkObserve(b *testing.B) {
	for b.Loop() {
		if Observe(os.Getpid()).State != Alive {
			b.Fatal("own process is not alive")
		}
	}
}

func BenchmarkIdentify(b *testing.B) {
	home := b.TempDir()
	server, err := Serve(ServerConfig{Home: home, TempDir: "/tmp", Handler: fakeGateway{identify: func() Identity { return Identity{PID: 12} }}})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	client := NewClient(home)
	for b.Loop() {
		if _, err := client.Identify(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStateUpdate(b *testing.B) {
	file := NewStateFile(NewPIDRecord(b.TempDir(), nil), CodeIdentity{}, clock.RealClock{})
	for b.Loop() {
		if err := file.Update(func(s *RuntimeState) { s.ActiveWork++ }); err != nil {
			b.Fatal(err)
		}
	}
}
