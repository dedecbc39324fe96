package pki

import (
	"context"
	"net"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// keepInterval is how often a running server looks at its certificate.
const keepInterval = 12 * time.Hour

// KeepServer renews the serving certificate of a server that runs for months. The server re-reads the
// file by itself.
func KeepServer(ctx context.Context, path string, ca *Pair, ip net.IP, clk clock.WithTicker, log logr.Logger) {
	tick := clk.NewTicker(keepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
			if _, err := EnsureServer(path, ca, ip, clk.Now()); err != nil {
				log.Error(err, "Could not renew the serving certificate, will try again", "file", path)
			}
		}
	}
}
