package storage

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/generic"
	"github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"
)

const (
	// Endpoint is what an etcd client is told; the address is never resolved, see Backend.DialContext.
	Endpoint = "http://kine.invalid:2379"
	// emulatedEtcd is an etcd without progress requests on watches. With them the API server would answer a
	// consistent list from its watch cache once kine had confirmed the cache's revision, and kine cannot
	// confirm one for a watch that was opened after the last write: such lists then time out for as long as
	// nothing is written. Without them a consistent list reads the database.
	emulatedEtcd = "3.5.12"
	// minPingInterval is etcd's own bound on client pings; the library's default of 5 minutes is longer than
	// the API server's interval of 30 s and would end every connection after a few of them.
	minPingInterval = 5 * time.Second
	// notifyInterval is how often an idle watch learns the current revision, so that a client that resumes one does not
	// ask for a revision that is compacted. There is a watch per served resource: at the default of 5 s their
	// notices were a fifth of an idle server's work. etcd itself sends them every 10 minutes.
	notifyInterval = time.Minute
	// pipeBytes is the buffer of one direction of one connection. There is a connection per served
	// resource, so this stays small.
	pipeBytes = 32 << 10
	// maxRequestBytes is etcd's default of 1.5 MiB plus framing.
	maxRequestBytes = 2 << 20
	// maxAnswerBytes must hold the largest list page.
	maxAnswerBytes = 1<<31 - 1
)

// Backend is a running store.
type Backend struct {
	listener *bufconn.Listener
	grpc     *grpc.Server
	stop     context.CancelFunc
	workers  *sync.WaitGroup
}

// Open opens or creates the database at path and serves it. Close must be called.
func Open(ctx context.Context, path string, log logr.Logger) (*Backend, error) {
	// The store outlives ctx: it is closed by Close, after its clients are gone.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b := &Backend{stop: cancel, workers: &sync.WaitGroup{}}
	backend, dialect, err := sqlite.NewVariant(ctx, b.workers, "sqlite3", &drivers.Config{
		DataSourceName: path + "?" + sqlite.DefaultParams + fmt.Sprintf("&_pragma=journal_size_limit(%d)", WALLimit),
		// Idle connections each hold a page cache; opening one costs well under a millisecond.
		ConnectionPoolConfig: generic.ConnectionPoolConfig{MaxIdle: 4, MaxIdleTime: 2 * time.Minute},
		// kine compacts, the API server's own compactor is off: only kine's checkpoints afterwards.
		CompactInterval:  5 * time.Minute,
		CompactTimeout:   5 * time.Second,
		CompactMinRetain: 1000,
		CompactBatchSize: 1000,
		PollBatchSize:    500,
		PollInterval:     time.Second,
	})
	if err != nil {
		cancel()
		b.workers.Wait()
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	if err := backend.Start(ctx); err != nil {
		cancel()
		b.workers.Wait()
		return nil, fmt.Errorf("start database %s: %w", path, err)
	}
	b.serve(backend)
	b.workers.Add(1)
	go func() {
		defer b.workers.Done()
		keeper := walKeeper{path: path, db: dialect.DB, log: log}
		keeper.run(ctx)
	}()
	return b, nil
}

func (b *Backend) serve(backend server.Backend) {
	b.listener = bufconn.Listen(pipeBytes)
	b.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxSendMsgSize(maxAnswerBytes),
		grpc.SharedWriteBuffer(true),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	)
	server.New(backend, "http", notifyInterval, emulatedEtcd).Register(b.grpc)
	b.workers.Add(1)
	go func() {
		defer b.workers.Done()
		_ = b.grpc.Serve(b.listener) // ends when Close stops the server
	}()
}

// DialContext connects to the store whatever the address says.
func (b *Backend) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return b.listener.DialContext(ctx)
}

// Close stops serving and closes the database. Everything acknowledged is in the file afterwards.
func (b *Backend) Close() {
	b.grpc.Stop()
	b.stop()
	b.workers.Wait()
}
