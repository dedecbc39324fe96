// Package bootstrap makes a fresh or older local control plane ready for hermes: our CRDs, the rights of
// gateways, and the default Gateway. It must never change an object that a person owns. Implements the
// first steps of hermes up in design §9.
package bootstrap

import (
	"context"
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

// defaultGateway creates the Gateway that profiles use when they name none. One that is there is left alone. It is
// applied, not posted: whoever posts an object owns every default in it, and a person who then declares one of those
// fields would meet a conflict.
func defaultGateway(ctx context.Context, cfg *rest.Config) error {
	client, err := kube.HermesClient(cfg)
	if err != nil {
		return err
	}
	err = client.Get().Namespace(defaultNamespace).Resource("gateways").Name(v1alpha1.DefaultGatewayName).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		body := fmt.Sprintf(`{"apiVersion":%q,"kind":"Gateway","metadata":{"name":%q},"spec":{"engine":%q}}`,
			v1alpha1.GroupVersion, v1alpha1.DefaultGatewayName, v1alpha1.EngineProcess)
		err = client.Patch(types.ApplyPatchType).Namespace(defaultNamespace).Resource("gateways").Name(v1alpha1.DefaultGatewayName).
			VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager}, metav1.ParameterCodec).Body([]byte(body)).Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("default gateway: %w", err)
	}
	return nil
}
