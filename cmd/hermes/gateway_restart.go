package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/controllers/engine/process"
)

// startMargin is what a restart may take beyond the stop: starting and answering.
const startMargin = 90 * time.Second

// restartPatience is how long a chat waits for a gateway that restarts.
const restartPatience = defaultDrain + startMargin

func newGatewayRestart(c *cli) *cobra.Command {
	var wait, all bool
	var f hostFlags
	command := &cobra.Command{
		Use:   "restart [NAME]",
		Short: "Restart a gateway, finishing its turns first",
		Long: `Restart a gateway: turns in flight are finished first, within spec.drainTimeout. NAME defaults to default.

With --wait (the default) it returns when the new process answers.

Without NAME, and when a gateway that nobody declared runs on this host, or with -p, --home or --all, it is that one: the
process finishes its turns and goes on with the program that is installed now. A profile that another one's gateway serves
is closed and opened again. --all stops the process and starts it anew.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if byHand, err := c.restartsByHand(cmd, args, f, all); byHand || err != nil {
				return err
			}
			name := v1alpha1.DefaultGatewayName
			if len(args) == 1 {
				name = args[0]
			}
			return c.restartGateway(cmd.Context(), name, wait)
		},
	}
	command.Flags().BoolVar(&wait, "wait", true, "return when the new process answers")
	command.Flags().BoolVar(&all, "all", false, "stop the gateway of this host and start it anew")
	f.add(command)
	return command
}

// restartsByHand restarts a gateway that nobody declared when that is what the command line means.
func (c *cli) restartsByHand(cmd *cobra.Command, args []string, f hostFlags, all bool) (bool, error) {
	named := f.profile != "" || f.home != "" || all
	switch {
	case len(args) > 0 && named:
		return false, exit.Usagef("name a declared gateway, or one of this host with -p, --home or --all, not both")
	case !named && (len(args) > 0 || c.kubeconfig != "" || c.namespace != "" || c.data != ""):
		return false, nil
	}
	h, err := c.gatewayHost(f)
	if err != nil {
		return false, err
	}
	if !named {
		if owner, _, _ := h.Rendezvous.Look(); owner == nil {
			return false, nil
		}
	}
	if all {
		return true, ended(h.RestartAll(cmd.Context()))
	}
	return true, ended(h.Restart(cmd.Context()))
}

func (c *cli) restartGateway(ctx context.Context, name string, wait bool) error {
	client, api, namespace, err := c.api()
	if err != nil {
		return err
	}
	before, err := askRestart(ctx, api, namespace, name, c.clock.Now())
	if err != nil {
		return client.Explain(err)
	}
	if !wait {
		fmt.Fprintf(c.out, "gateway/%s: restart asked for\n", name)
		return nil
	}
	budget := process.StopBudget(drainTimeout(before)) + startMargin
	after, err := awaitRestart(ctx, api, before, budget)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("gateway/%s did not come back within %s: see hermes status gateway/%s", name, budget, name)
	}
	if err != nil {
		return client.Explain(err)
	}
	fmt.Fprintf(c.out, "gateway/%s: restarted, pid %d\n", name, after.Status.Instance.PID)
	return nil
}

// askRestart changes the annotation that asks for one drained restart, and returns the Gateway as it was.
func askRestart(ctx context.Context, api rest.Interface, namespace, name string, now time.Time) (*v1alpha1.Gateway, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		v1alpha1.AnnotationRestartedAt: now.UTC().Format(time.RFC3339Nano),
	}}})
	if err != nil {
		return nil, err
	}
	gw := &v1alpha1.Gateway{}
	err = api.Patch(types.MergePatchType).Namespace(namespace).Resource("gateways").Name(name).
		Param("fieldManager", "hermes-restart").Body(patch).Do(ctx).Into(gw)
	if apierrors.IsNotFound(err) {
		return nil, exit.Usagef("there is no Gateway %q in namespace %s: see hermes get gateways", name, namespace)
	}
	return gw, err
}

func drainTimeout(gw *v1alpha1.Gateway) time.Duration {
	if gw.Spec.DrainTimeout == nil {
		return defaultDrain
	}
	return gw.Spec.DrainTimeout.Duration
}

// awaitRestart watches until another run of the gateway answers.
func awaitRestart(ctx context.Context, api rest.Interface, before *v1alpha1.Gateway, budget time.Duration) (*v1alpha1.Gateway, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	lw := cache.NewListWatchFromClient(api, "gateways", before.Namespace, fields.OneTermEqualSelector(metav1.ObjectNameField, before.Name))
	event, err := watchtools.UntilWithSync(ctx, lw, &v1alpha1.Gateway{}, nil, func(e watch.Event) (bool, error) {
		gw, ok := e.Object.(*v1alpha1.Gateway)
		if !ok {
			return false, nil
		}
		if e.Type == watch.Deleted {
			return false, fmt.Errorf("gateway/%s was deleted meanwhile", before.Name)
		}
		return restarted(before, gw), nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return event.Object.(*v1alpha1.Gateway), nil
}

// restarted reports whether another run than before answers now. It is a pure function.
func restarted(before, now *v1alpha1.Gateway) bool {
	if now.Status.Instance == nil || !meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionRunning) {
		return false
	}
	return before.Status.Instance == nil || before.Status.Instance.ID != now.Status.Instance.ID
}
