package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/manifests"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

// applyImport declares the objects, waits until a gateway has the profile open, and imports into it.
func (c *cli) applyImport(ctx context.Context, run *importRun) error {
	if err := c.applyObjects(ctx, run); err != nil {
		return err
	}
	name := run.objects.Profile.Name
	ctx, cancel := context.WithTimeout(ctx, run.f.timeout)
	defer cancel()
	if err := c.awaitServed(ctx, name); err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return exit.Busyf("profile %s is declared and no gateway has it open yet: see hermes status profile/%s, then run the same import again", name, name)
		}
		return err
	}
	k, _, done, err := c.keeper(ctx, dataFlags{profile: name})
	if err != nil {
		return err
	}
	defer done()
	found, err := c.locateData(ctx, dataFlags{profile: name})
	if err != nil {
		return err
	}
	return run.fill(ctx, k, found.Home)
}

// applyObjects applies the manifest. A Secret whose values are not known is made when there is none, and never laid over
// one that somebody has filled in.
func (c *cli) applyObjects(ctx context.Context, run *importRun) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	applier, err := newApplier(client)
	if err != nil {
		return err
	}
	applier.Manager = manifests.FieldManager
	if !run.f.secrets {
		kept := run.objects.Secrets[:0:0]
		for _, s := range run.objects.Secrets {
			secrets := applier.Client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(applier.Namespace)
			_, err := secrets.Get(ctx, s.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				kept = append(kept, s)
			case err != nil:
				return client.Explain(err)
			}
		}
		all := run.objects.Secrets
		run.objects.Secrets = kept
		defer func() { run.objects.Secrets = all }()
	}
	text, err := run.objects.Manifest()
	if err != nil {
		return err
	}
	var failed error
	results := applier.Apply(ctx, manifests.Parse(run.home.Dir, text), func(r manifests.Result) {
		if r.Outcome == manifests.Failed {
			r.Err = client.Explain(r.Err)
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.Identity, r.Err))
			return
		}
		fmt.Fprintln(c.err, r)
	})
	if manifests.AnyFailed(results) {
		return fmt.Errorf("the manifest was not accepted as a whole, and no session was imported: %w: write it with -o FILE, correct it, and apply it before you import again", failed)
	}
	return nil
}

// awaitServed waits until the profile's gateway answers for it.
func (c *cli) awaitServed(ctx context.Context, name string) error {
	client, rest, namespace, err := c.api()
	if err != nil {
		return err
	}
	query := statusfeed.Query{Namespace: namespace, Kind: "Profile", Name: name}
	err = statusfeed.Watch(ctx, rest, query, func(s statusview.Snapshot) bool {
		for _, p := range s.Profiles {
			if p.Status.Gateway != nil && p.Status.Gateway.Home != "" && p.Status.Gateway.HomeHash == p.Status.HomeHash {
				return false
			}
		}
		return true
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return client.Explain(err)
}
