package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/credentials"
	"hermes.dev/hermes/cmd/hermes-apiserver/internal/datadir"
	"hermes.dev/hermes/cmd/hermes-apiserver/internal/gcpace"
	"hermes.dev/hermes/cmd/hermes-apiserver/internal/pki"
	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
	"hermes.dev/hermes/cmd/hermes-apiserver/internal/server"
	"hermes.dev/hermes/cmd/hermes-apiserver/internal/storage"
)

type flags struct {
	dataDir        string
	address        string
	memoryLimit    string
	exitWithParent bool
	profiling      bool
}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:           "hermes-apiserver --data-dir DIR --address 127.0.0.1:PORT",
		Short:         "The embedded control plane of hermes",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd, f) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return refuse.Usage(err) })
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "directory that holds the database, keys and kubeconfigs (required)")
	cmd.Flags().StringVar(&f.address, "address", "127.0.0.1:0", "loopback address to serve on; port 0 picks a free one")
	cmd.Flags().StringVar(&f.memoryLimit, "memory-limit", "512Mi", "soft limit of the Go heap and stacks; 0 for none")
	cmd.Flags().BoolVar(&f.exitWithParent, "exit-with-parent", false, "stop when standard input ends")
	cmd.Flags().BoolVar(&f.profiling, "profiling", false, "serve /debug/pprof to the administrator")
	if err := cmd.Flags().MarkHidden("profiling"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

func run(cmd *cobra.Command, f flags) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	if f.dataDir == "" {
		return refuse.Usage(fmt.Errorf("--data-dir is required"))
	}
	if err := limitMemory(f.memoryLimit); err != nil {
		return err
	}
	go gcpace.Keep(ctx, clock.RealClock{})
	if f.exitWithParent {
		go stopAtEOF(cmd.InOrStdin(), stop)
	}
	quietLibraries()
	log := logr.FromSlogHandler(slog.NewTextHandler(cmd.ErrOrStderr(), nil))

	dir, err := datadir.Open(f.dataDir, time.Now())
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // the kernel drops the lock with the process anyway
	listener, err := listen(ctx, f.address)
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // closed by the server in the ordinary case
	ip := listener.Addr().(*net.TCPAddr).IP
	serverURL := (&url.URL{Scheme: "https", Host: listener.Addr().String()}).String()

	ca, err := prepareFiles(dir.Layout, serverURL, ip)
	if err != nil {
		return err
	}
	go pki.KeepServer(ctx, dir.ServerCert(), ca, ip, clock.RealClock{}, log)

	store, err := storage.Open(ctx, dir.Database(), log)
	if err != nil {
		return err
	}
	defer store.Close()
	return server.Run(ctx, server.Config{
		Layout:    dir.Layout,
		Listener:  listener,
		URL:       serverURL,
		Dial:      store.DialContext,
		Profiling: f.profiling,
	}, func() {
		// The one line on standard output: whoever started this process waits for it.
		fmt.Fprintf(cmd.OutOrStdout(), "ready %s\n", serverURL)
		debug.FreeOSMemory() // starting makes several times the garbage that serving does
	})
}

// prepareFiles makes sure that every key, token and kubeconfig is there and current.
func prepareFiles(l datadir.Layout, serverURL string, ip net.IP) (*pki.Pair, error) {
	now := time.Now()
	ca, err := pki.EnsureCA(l.CA(), now)
	if err != nil {
		return nil, err
	}
	if _, err := pki.EnsureServer(l.ServerCert(), ca, ip, now); err != nil {
		return nil, err
	}
	if err := pki.EnsureKey(l.ServiceAccountKey()); err != nil {
		return nil, err
	}
	if err := credentials.EnsureEncryption(l.Encryption(), l.Database()); err != nil {
		return nil, err
	}
	tokens, err := credentials.EnsureTokens(l.Tokens())
	if err != nil {
		return nil, err
	}
	if err := credentials.WriteKubeconfig(l.Kubeconfig(), serverURL, credentials.AdminUser, tokens.Admin, ca.CertPEM()); err != nil {
		return nil, err
	}
	return ca, credentials.WriteKubeconfig(l.GatewayKubeconfig(), serverURL, credentials.GatewayUser, tokens.Gateway, ca.CertPEM())
}

// listen binds a loopback address, or refuses with what to change.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refuse.Config("--address %q is not HOST:PORT, for example 127.0.0.1:34567", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, refuse.Config("--address %q: port %q is not a number from 0 to 65535 (%d)", address, port, n)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, refuse.Config("--address %q is not a loopback address: use 127.0.0.1:%s", address, port)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, refuse.Config("cannot serve on %s: %w: free the port or choose another --address", address, err)
	}
	return l, nil
}

// limitMemory sets the soft limit of the Go runtime. It is a flag and not GOMEMLIMIT because whoever
// starts this process sizes it, and the environment belongs to somebody else.
func limitMemory(limit string) error {
	q, err := resource.ParseQuantity(limit)
	if err != nil || q.Sign() < 0 {
		return refuse.Config("--memory-limit %q is not a size such as 220Mi", limit)
	}
	if q.Sign() > 0 {
		debug.SetMemoryLimit(q.Value())
	}
	return nil
}

// stopAtEOF calls stop when r ends: the other end is held by the parent for as long as it lives.
func stopAtEOF(r io.Reader, stop func()) {
	_, _ = io.Copy(io.Discard, r)
	stop()
}
