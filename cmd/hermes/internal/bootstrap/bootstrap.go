// Package bootstrap makes a fresh or older local control plane ready for hermes: our CRDs, the rights of
// gateways, and the default Gateway. It must never change an object that a person owns. Implements the
// first steps of hermes up in design §9.
package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/manifests"
	"hermes.dev/hermes/config/crd"
	"hermes.dev/hermes/config/rbac"
	"hermes.dev/hermes/config/samples"
	"hermes.dev/hermes/controlplane"
)

// FieldManager owns what hermes up itself puts into its control plane.
const FieldManager = "hermes-up"

// defaultNamespace is where the default Gateway and the demo live.
const defaultNamespace = "default"

// Run installs or upgrades the CRDs and the rights of gateways, and creates the default Gateway when it is
// missing. Doing it again changes nothing.
func Run(ctx context.Context, cfg *rest.Config) error {
	bases, err := fs.Sub(crd.Bases, "bases")
	if err != nil {
		return err
	}
	if err := controlplane.InstallCRDs(ctx, cfg, bases); err != nil {
		return err
	}
	if err := apply(ctx, cfg, rbac.Local, "local", true); err != nil {
		return fmt.Errorf("rights of gateways: %w", err)
	}
	return defaultGateway(ctx, cfg)
}

// Demo applies the demo samples.
func Demo(ctx context.Context, cfg *rest.Config) error {
	if err := apply(ctx, cfg, samples.Demo, "demo", false); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

func apply(ctx context.Context, cfg *rest.Config, files fs.FS, dir string, force bool) error {
	docs, err := embedded(files, dir)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	a := &manifests.Applier{Client: client, Mapper: mapper(), Namespace: defaultNamespace, Manager: FieldManager, Force: force}
	var failed error
	a.Apply(ctx, docs, func(r manifests.Result) {
		if r.Outcome == manifests.Failed {
			failed = fmt.Errorf("%s", r)
		}
	})
	return failed
}

func embedded(files fs.FS, dir string) ([]manifests.Document, error) {
	names, err := fs.Glob(files, dir+"/*.yaml")
	if err != nil {
		return nil, err
	}
	var docs []manifests.Document
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		docs = append(docs, manifests.Parse(name, raw)...)
	}
	return docs, nil
}

// mapper knows every kind that is embedded, so that a start needs no discovery.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), meta.RESTScopeRoot)
	m.Add(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), meta.RESTScopeRoot)
	return kube.OursFirst(m)
}

// defaultGateway creates the Gateway that profiles use when they name none. One that is there is left alone.
func defaultGateway(ctx context.Context, cfg *rest.Config) error {
	client, err := kube.HermesClient(cfg)
	if err != nil {
		return err
	}
	gateway := client.Get().Namespace(defaultNamespace).Resource("gateways").Name(v1alpha1.DefaultGatewayName)
	if err := gateway.Do(ctx).Error(); !apierrors.IsNotFound(err) {
		return err
	}
	// By apply, not by create: who creates an object owns the fields that the server fills in, and the first
	// person to declare one of them would have a conflict with hermes up. The label is a field for hermes up to
	// own: an object that nobody owns anything of counts as made before the first apply, with the same conflict.
	raw, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Gateway",
		"metadata": map[string]any{
			"name": v1alpha1.DefaultGatewayName, "namespace": defaultNamespace,
			"labels": map[string]any{v1alpha1.LabelAppliedBy: "up"},
		},
	})
	if err != nil {
		return err
	}
	err = client.Patch(types.ApplyPatchType).Namespace(defaultNamespace).Resource("gateways").Name(v1alpha1.DefaultGatewayName).
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager}, metav1.ParameterCodec).Body(raw).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("default gateway: %w", err)
	}
	return nil
}
