package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// watchBudget is the time in which watches are told to end when the server stops.
	watchBudget = 200 * time.Millisecond
	// stopBudget bounds how long what is left of connections is waited for. The peer of an HTTP/2 connection has a second
	// to close it, so less would give up on every stop.
	stopBudget = 2 * time.Second
	readyPoll  = 20 * time.Millisecond
)

// Run serves until ctx ends. ready is called once, when /readyz passes and the default namespace exists.
func Run(ctx context.Context, cfg Config, ready func()) error {
	// client-go prints deprecation warnings of the server's own requests to stderr otherwise.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	if err := setFeatures(); err != nil {
		return err
	}
	opts, err := completeOptions(ctx, cfg)
	if err != nil {
		return err
	}
	c, err := newChain(opts)
	if err != nil {
		return err
	}
	c.aggregator.GenericAPIServer.ShutdownTimeout = stopBudget
	prepared, err := c.aggregator.PrepareRun()
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.native.GenericAPIServer.LoopbackClientConfig)
	if err != nil {
		return fmt.Errorf("loopback client: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if waitReady(ctx, client) != nil {
			return // ctx has ended
		}
		if err := startControllers(ctx, c); err != nil {
			cancel(err)
			return
		}
		ready()
	}()
	if err := prepared.Run(ctx); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func waitReady(ctx context.Context, client kubernetes.Interface) error {
	return wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		if client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() != nil {
			return false, nil
		}
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, nil
	})
}
