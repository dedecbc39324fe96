package controlplane_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"hermes.dev/hermes/controlplane"
	testcontrolplane "hermes.dev/hermes/test/controlplane"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.hermes.dev}
spec:
  group: test.hermes.dev
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd], categories: [gadgets]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        description: A widget is what the test makes.
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, description: How large the widget is.}
            x-kubernetes-validations:
            - {rule: "!has(self.size) || self.size < 100", message: too large}
`

const oneWidget = "apiVersion: test.hermes.dev/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: 7}\n"

func TestNewKindIsServedAtOnce(t *testing.T) {
	s := start(t, t.TempDir())
	kubectl := func(input string, args ...string) (string, error) {
		out, stderr, err := testcontrolplane.KubectlInput(t, s.Kubeconfig(), input, args...)
		return out + stderr, err
	}
	if out, err := kubectl(widgets, "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatal(out)
	}
	began := time.Now()
	within(t, time.Second+kubectlCost(t, s), "kubectl can create the new kind", func() (bool, error) {
		_, err := kubectl(oneWidget, "apply", "--server-side", "-f", "-")
		return err == nil, err
	})
	t.Logf("served %s after its CRD was applied", time.Since(began).Round(time.Millisecond))

	for _, tc := range []struct{ args, says string }{
		{"get wd one", "SIZE"},
		{"get gadgets", "one"},
		{"api-resources --api-group=test.hermes.dev", "widgets"},
		{"get --raw /apis", "test.hermes.dev"},
	} {
		if out, err := kubectl("", strings.Fields(tc.args)...); err != nil || !strings.Contains(out, tc.says) {
			t.Errorf("kubectl %s: %v, %q does not have %q", tc.args, err, out, tc.says)
		}
	}
	within(t, 10*time.Second, "kubectl explain knows the new kind", func() (bool, error) {
		out, err := kubectl("", "explain", "widget.spec.size")
		return strings.Contains(out, "How large the widget is."), err
	})
	if out, err := kubectl(strings.Replace(oneWidget, "7", "700", 1), "apply", "--server-side", "-f", "-"); err == nil || !strings.Contains(out, "too large") {
		t.Errorf("a widget against its CEL rule: %v, %q", err, out)
	}
}

// kubectlCost is what one kubectl process takes here, so that a busy machine does not count as a slow CRD.
func kubectlCost(t *testing.T, s *controlplane.Server) time.Duration {
	t.Helper()
	began := time.Now()
	testcontrolplane.Kubectl(t, s.Kubeconfig(), "get", "namespaces")
	return 2 * time.Since(began)
}

func TestBuiltInKinds(t *testing.T) {
	s := start(t, t.TempDir())
	out := testcontrolplane.Kubectl(t, s.Kubeconfig(), "api-resources", "-o", "name")
	for _, want := range []string{
		"namespaces", "secrets", "configmaps", "events", "serviceaccounts", "events.events.k8s.io", "leases.coordination.k8s.io",
		"roles.rbac.authorization.k8s.io", "customresourcedefinitions.apiextensions.k8s.io",
		"validatingadmissionpolicies.admissionregistration.k8s.io", "subjectaccessreviews.authorization.k8s.io",
	} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("%s is not served", want)
		}
	}
	if strings.Contains(out, "pods") {
		t.Error("pods are served by a control plane without nodes")
	}
	if out := testcontrolplane.Kubectl(t, s.Kubeconfig(), "explain", "secret.stringData"); !strings.Contains(out, "FIELD: stringData") {
		t.Errorf("kubectl explain: %q", out)
	}
	if out := testcontrolplane.Kubectl(t, s.Kubeconfig(), "get", "--raw", "/openapi/v2"); !strings.Contains(out, "io.k8s.api.core.v1.Secret") {
		t.Error("OpenAPI v2 lacks Secret")
	}
	if out := testcontrolplane.Kubectl(t, s.Kubeconfig(), "get", "namespaces"); !strings.Contains(out, "STATUS") {
		t.Errorf("no table: %q", out)
	}
}

func TestInstallCRDsUpgradesInPlace(t *testing.T) {
	s := start(t, t.TempDir())
	cfg := restConfig(t, s)
	install := func(crd string) error {
		return controlplane.InstallCRDs(t.Context(), cfg, fstest.MapFS{"widgets.yaml": {Data: []byte(crd)}})
	}
	if err := install(widgets); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := testcontrolplane.KubectlInput(t, s.Kubeconfig(), oneWidget, "apply", "-f", "-"); err != nil {
		t.Fatalf("the kind is not served after InstallCRDs: %s", stderr)
	}
	if err := install(strings.Replace(widgets, "size < 100", "size < 5", 1)); err != nil {
		t.Fatal(err)
	}
	within(t, 5*time.Second, "the new rule holds", func() (bool, error) {
		_, stderr, err := testcontrolplane.KubectlInput(t, s.Kubeconfig(), strings.ReplaceAll(oneWidget, "one", "two"), "create", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(stderr, "too large"), err
	})
	if out := testcontrolplane.Kubectl(t, s.Kubeconfig(), "get", "widget", "one", "-o", "jsonpath={.spec.size}"); out != "7" {
		t.Errorf("the widget made before the upgrade reads %q", out)
	}
	err := install(strings.Replace(widgets, "name: widgets.test.hermes.dev", "name: wrong.test.hermes.dev", 1))
	if err == nil || !strings.Contains(err.Error(), "wrong.test.hermes.dev") {
		t.Errorf("an invalid CRD: %v, want an error that names it", err)
	}
}

func TestDeletedNamespaceEnds(t *testing.T) {
	s := start(t, t.TempDir())
	client := clientset(t, restConfig(t, s))
	create(t, client.CoreV1().Namespaces().Create, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "brief"}})
	create(t, client.CoreV1().ConfigMaps("brief").Create, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "inside"}})
	testcontrolplane.Kubectl(t, s.Kubeconfig(), "delete", "namespace", "brief", "--timeout=30s")
	if _, err := client.CoreV1().ConfigMaps("brief").Get(context.Background(), "inside", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was inside: %v, want not found", err)
	}
}

func TestOwnedObjectsGoWithTheirOwner(t *testing.T) {
	s := start(t, t.TempDir())
	cfg := restConfig(t, s)
	if err := controlplane.InstallCRDs(t.Context(), cfg, fstest.MapFS{"widgets.yaml": {Data: []byte(widgets)}}); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := testcontrolplane.KubectlInput(t, s.Kubeconfig(), oneWidget, "apply", "-f", "-"); err != nil {
		t.Fatal(stderr)
	}
	uid := testcontrolplane.Kubectl(t, s.Kubeconfig(), "get", "widget", "one", "-o", "jsonpath={.metadata.uid}")
	client := clientset(t, cfg).CoreV1().Secrets("default")
	create(t, client.Create, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name:            "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "test.hermes.dev/v1", Kind: "Widget", Name: "one", UID: types.UID(uid)}},
	}})
	testcontrolplane.Kubectl(t, s.Kubeconfig(), "delete", "widget", "one")
	began := time.Now()
	within(t, 30*time.Second, "the owned object is collected", func() (bool, error) {
		_, err := client.Get(t.Context(), "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
	t.Logf("collected %s after its owner", time.Since(began).Round(time.Millisecond))
}
