package local

import (
	"context"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// probeTimeout bounds one question to the control plane on behalf of the watchdog.
const probeTimeout = 5 * time.Second

// NotifyReady tells systemd that the unit is up, when it asked to be told (Type=notify).
func NotifyReady(log logr.Logger) {
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		log.Error(err, "Could not tell systemd that hermes up is ready")
	}
}

// Systemd keeps systemd's watchdog fed for as long as the control plane answers, when the unit has one
// (WatchdogSec). It is nil when there is none.
func Systemd(clk clock.WithTicker, log logr.Logger) func(context.Context, *rest.Config) error {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Error(err, "Watchdog of systemd is not usable")
	}
	if limit <= 0 || err != nil {
		return nil
	}
	return func(ctx context.Context, cfg *rest.Config) error {
		client, err := rest.HTTPClientFor(cfg)
		if err != nil {
			return err
		}
		feed(ctx, clk, limit, func() bool { return answers(ctx, client, cfg.Host) }, func() {
			if _, err := daemon.SdNotify(false, daemon.SdNotifyWatchdog); err != nil {
				log.Error(err, "Could not feed the watchdog of systemd")
			}
		})
		return nil
	}
}

// feed calls alive at half the limit for as long as healthy says so: a control plane that stopped answering
// starves the watchdog, and systemd restarts the unit.
func feed(ctx context.Context, clk clock.WithTicker, limit time.Duration, healthy func() bool, alive func()) {
	ticker := clk.NewTicker(limit / 2)
	defer ticker.Stop()
	for {
		if healthy() {
			alive()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

func answers(ctx context.Context, client *http.Client, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
