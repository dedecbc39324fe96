package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/config/crd"
	"hermes.dev/hermes/controlplane"
	"hermes.dev/hermes/runtime/host"
)

// probeTimeout bounds one question, so that doctor ends on a machine where nothing answers.
const probeTimeout = 5 * time.Second

// Reachable checks that a control plane answers, and that its clock is ours.
func Reachable(cfg *rest.Config, now func() time.Time) Check {
	return Check{"control plane", func(ctx context.Context) Finding {
		client, err := rest.HTTPClientFor(cfg)
		if err != nil {
			return finding(Problem, "", "%v", err)
		}
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(cfg.Host, "/")+"/readyz", nil)
		if err != nil {
			return finding(Problem, "", "%v", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return finding(Problem, "hermes up", "%s does not answer: %v", cfg.Host, err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return finding(Problem, "", "%s is not ready: it answers %s", cfg.Host, response.Status)
		}
		if server, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			if f := judgeClock(now(), server); f.Level != OK {
				return f
			}
		}
		return ok("%s answers", cfg.Host)
	}}
}

// CRDs checks that the kinds a control plane serves are those of this program. It asks the server what an
// upgrade would change without making it.
func CRDs(cfg *rest.Config) Check {
	return Check{"kinds", func(ctx context.Context) Finding {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		client, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return finding(Problem, "", "%v", err)
		}
		files, err := fs.Glob(crd.Bases, "bases/*.yaml")
		if err != nil {
			return finding(Problem, "", "%v", err)
		}
		var missing, outdated []string
		for _, file := range files {
			name, state, err := crdState(ctx, client, file)
			switch {
			case err != nil:
				return finding(Problem, "", "%s cannot be checked: %v", name, err)
			case state == crdMissing:
				missing = append(missing, name)
			case state == crdOutdated:
				outdated = append(outdated, name)
			}
		}
		return judgeCRDs(len(files), missing, outdated)
	}}
}

func judgeCRDs(all int, missing, outdated []string) Finding {
	const remedy = "restart hermes up, or kubectl apply --server-side -k config/crd"
	switch {
	case len(missing) > 0:
		return finding(Problem, remedy, "the control plane does not know %s", strings.Join(missing, ", "))
	case len(outdated) > 0:
		return finding(Warning, remedy, "the control plane has another version of %s than this program", strings.Join(outdated, ", "))
	}
	return ok("%d, as this program has them", all)
}

type crdCondition int

const (
	crdCurrent crdCondition = iota
	crdMissing
	crdOutdated
)

func crdState(ctx context.Context, client dynamic.Interface, file string) (name string, state crdCondition, err error) {
	raw, err := fs.ReadFile(crd.Bases, file)
	if err != nil {
		return file, 0, err
	}
	var meta metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(raw, &meta); err != nil {
		return file, 0, err
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	current, err := crds.Get(ctx, meta.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return meta.Name, crdMissing, nil
	}
	if err != nil {
		return meta.Name, 0, err
	}
	asJSON, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return meta.Name, 0, err
	}
	force := true
	wanted, err := crds.Patch(ctx, meta.Name, types.ApplyPatchType, asJSON, metav1.PatchOptions{
		FieldManager: controlplane.CRDFieldManager, Force: &force, DryRun: []string{metav1.DryRunAll},
	})
	if err != nil {
		return meta.Name, 0, err
	}
	if wanted.GetGeneration() != current.GetGeneration() {
		return meta.Name, crdOutdated, nil
	}
	return meta.Name, crdCurrent, nil
}

// Gateway checks that a gateway of this machine answers on its control socket, as the run its object names.
func Gateway(g *v1alpha1.Gateway) Check {
	return Check{"gateway " + g.Name, func(ctx context.Context) Finding {
		instance := g.Status.Instance
		if instance == nil || instance.PID == 0 || g.Status.Home == "" {
			return finding(Warning, fmt.Sprintf("hermes status gateway/%s -n %s", g.Name, g.Namespace), "no process runs for it")
		}
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		identity, err := host.NewClient(g.Status.Home).Identify(ctx)
		return judgeGateway(g, identity, err)
	}}
}

func judgeGateway(g *v1alpha1.Gateway, identity host.Identity, err error) Finding {
	remedy := fmt.Sprintf("hermes status gateway/%s -n %s", g.Name, g.Namespace)
	switch {
	case errors.Is(err, host.ErrNoAnswer):
		return finding(Problem, remedy, "pid %d does not answer on the control socket of %s", g.Status.Instance.PID, g.Status.Home)
	case err != nil:
		return finding(Problem, remedy, "%v", err)
	case int64(identity.PID) != g.Status.Instance.PID:
		return finding(Problem, remedy, "its object names pid %d, and pid %d answers", g.Status.Instance.PID, identity.PID)
	}
	return ok("pid %d answers, profiles: %d", identity.PID, len(identity.Served()))
}

// NotRunning says that there is no control plane to check.
func NotRunning(why string) Check {
	return Check{"control plane", func(context.Context) Finding { return finding(Problem, "hermes up", "%s", why) }}
}
