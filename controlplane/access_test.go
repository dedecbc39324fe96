package controlplane_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"hermes.dev/hermes/controlplane"
)

func TestAnonymousIsRefused(t *testing.T) {
	s := start(t, t.TempDir())
	httpClient, err := rest.HTTPClientFor(rest.AnonymousClientConfig(restConfig(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	defer httpClient.CloseIdleConnections()
	for _, path := range []string{"/readyz", "/version", "/api", "/openapi/v2", "/api/v1/namespaces/default/secrets"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := httpClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %s, want 401", path, answer.Status)
		}
	}
}

func TestGatewayHasOnlyGrantedRights(t *testing.T) {
	s := start(t, t.TempDir())
	admin := clientset(t, restConfig(t, s))
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Layout().GatewayKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	gateway := clientset(t, cfg)

	for _, secret := range []string{"granted", "other"} {
		if _, err := admin.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	get := func(name string) error {
		_, err := gateway.CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
		return err
	}
	if err := get("granted"); !apierrors.IsForbidden(err) {
		t.Fatalf("before the grant: %v, want 403", err)
	}
	create(t, admin.RbacV1().Roles("default").Create, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "one-secret"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"granted"}, Verbs: []string{"get"}}},
	})
	create(t, admin.RbacV1().RoleBindings("default").Create, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "one-secret"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "one-secret"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: controlplane.GatewayGroup}},
	})
	within(t, readyLimit, "the grant takes effect", func() (bool, error) { err := get("granted"); return err == nil, err })
	if err := get("other"); !apierrors.IsForbidden(err) {
		t.Errorf("another secret: %v, want 403", err)
	}
	if _, err := gateway.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("all secrets: %v, want 403", err)
	}
}

func TestSecretsAreSealedOnDisk(t *testing.T) {
	const plaintext = "correct-horse-battery-staple"
	dir := t.TempDir()
	s := start(t, dir)
	admin := clientset(t, restConfig(t, s))
	create(t, admin.CoreV1().Secrets("default").Create, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sealed"}, StringData: map[string]string{"key": plaintext},
	})
	create(t, admin.CoreV1().ConfigMaps("default").Create, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "open"}, Data: map[string]string{"key": "marker-" + "in-the-clear"},
	})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "db", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw...)
	}
	if !bytes.Contains(all, []byte("marker-in-the-clear")) {
		t.Fatal("the ConfigMap is not in the database: this test looks in the wrong place")
	}
	if bytes.Contains(all, []byte(plaintext)) {
		t.Error("the Secret can be read in the database")
	}
	again := clientset(t, restConfig(t, start(t, dir)))
	secret, err := again.CoreV1().Secrets("default").Get(t.Context(), "sealed", metav1.GetOptions{})
	if err != nil || string(secret.Data["key"]) != plaintext {
		t.Errorf("after a restart the Secret reads %q, %v", secret.Data["key"], err)
	}
}
