package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
)

// homeSecret reads the home Secret of alice.
func (w *world) homeSecret() *corev1.Secret {
	s := secret(v1alpha1.HomeSecretPrefix+"alice", nil)
	s.Namespace = w.ns
	return s
}

// served makes alice and waits until it is served.
func (w *world) served(changes ...func(*v1alpha1.ProfileSpec)) *v1alpha1.Profile {
	w.Helper()
	p := w.alice(changes...).(*v1alpha1.Profile)
	w.awaitCondition(p, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
	w.settle()
	return p
}

// What a person changes of a home Secret is put back; what others added stays.
func TestDriftIsRepaired(t *testing.T) {
	cases := []struct {
		name   string
		breaks func(w *world)
	}{
		{"data edited", func(w *world) {
			s := w.homeSecret()
			w.change(s, func() { s.Data[v1alpha1.HomeSecretKey] = []byte("{}") })
		}},
		{"labels removed", func(w *world) {
			s := w.homeSecret()
			w.change(s, func() { s.Labels = nil })
		}},
		{"hash removed", func(w *world) {
			s := w.homeSecret()
			w.change(s, func() { delete(s.Annotations, v1alpha1.AnnotationHomeHash) })
		}},
		{"deleted", func(w *world) { w.delete(w.homeSecret()) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.served()
			before := w.homeSecret()
			w.get(before)
			w.change(before, func() {
				before.Labels["team"], before.Annotations["note"] = "a", "b"
			})
			w.change(p, func() { p.Labels, p.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "b"} })
			w.settle()
			c.breaks(w)
			w.await("the home Secret is whole again", func() (bool, string) {
				s := w.homeSecret()
				if err := suite.client.Get(w.ctx(), client.ObjectKeyFromObject(s), s); err != nil {
					return false, err.Error()
				}
				return string(s.Data[v1alpha1.HomeSecretKey]) == string(before.Data[v1alpha1.HomeSecretKey]) &&
					s.Labels[v1alpha1.LabelGateway] == "gw" && s.Labels[v1alpha1.LabelProfile] == "alice" &&
					s.Annotations[v1alpha1.AnnotationHomeHash] == before.Annotations[v1alpha1.AnnotationHomeHash], "other content"
			})
			w.settle()
			w.get(p)
			if p.Labels["team"] != "a" || p.Annotations["note"] != "b" {
				w.Errorf("other people's metadata of the Profile is gone: %v %v", p.Labels, p.Annotations)
			}
			if s := w.homeSecret(); c.name == "data edited" {
				w.get(s)
				if s.Labels["team"] != "a" || s.Annotations["note"] != "b" {
					w.Errorf("other people's metadata of the Secret is gone: %v %v", s.Labels, s.Annotations)
				}
			}
		})
	}
}

// A deleted or emptied Secret revokes: within a second the home does not hold the value any more.
func TestRevocation(t *testing.T) {
	cases := []struct {
		name, reason string
		revoke       func(w *world, s *corev1.Secret)
	}{
		{"emptied", v1alpha1.ReasonCredentialMissing, func(w *world, s *corev1.Secret) { w.change(s, func() { s.Data["API_KEY"] = nil }) }},
		{"key removed", v1alpha1.ReasonCredentialMissing, func(w *world, s *corev1.Secret) { w.change(s, func() { s.Data = nil }) }},
		{"deleted", v1alpha1.ReasonSecretNotFound, func(w *world, s *corev1.Secret) { w.delete(s) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			keys := secret("keys", map[string]string{"API_KEY": "very-secret"})
			w.create(keys)
			p := w.served(credential)
			env := filepath.Join(w.homeOf("alice"), ".env")
			if text, err := os.ReadFile(env); err != nil || !strings.Contains(string(text), "very-secret") {
				t.Fatalf("the key did not reach %s: %v", env, err)
			}
			began := time.Now()
			c.revoke(w, keys)
			holds := func() bool {
				s := w.homeSecret()
				w.get(s)
				return strings.Contains(string(s.Data[v1alpha1.HomeSecretKey]), "very-secret")
			}
			w.await("the home Secret lets go of the value", func() (bool, string) { return !holds(), "" })
			t.Logf("revocation took %s", time.Since(began))
			w.awaitCondition(p, v1alpha1.ConditionReferencesResolved, no, c.reason)
			w.await("the file lets go of the value", func() (bool, string) {
				text, err := os.ReadFile(env)
				return err == nil && !strings.Contains(string(text), "very-secret"), "still there"
			})
		})
	}
}

// A value is revoked even while the Profile cannot be rendered for another reason; its last good home stays.
func TestRevocationOfABrokenProfile(t *testing.T) {
	w := newWorld(t)
	keys := secret("keys", map[string]string{"API_KEY": "very-secret"})
	w.create(keys)
	p := w.served(credential)
	w.change(p, func() { p.Spec.Config = &apiextensionsv1.JSON{Raw: []byte(`{"api_key": "inline"}`)} })
	w.awaitCondition(p, v1alpha1.ConditionHomeRendered, no, v1alpha1.ReasonConfigInvalid)
	w.change(keys, func() { keys.Data["API_KEY"] = nil })
	env := filepath.Join(w.homeOf("alice"), ".env")
	w.await("the file lets go of the value", func() (bool, string) {
		text, err := os.ReadFile(env)
		return err == nil && !strings.Contains(string(text), "very-secret"), "still there"
	})
	w.awaitCondition(p, v1alpha1.ConditionReferencesResolved, no, v1alpha1.ReasonCredentialMissing)
	w.awaitCondition(p, v1alpha1.ConditionHomeRendered, no, v1alpha1.ReasonConfigInvalid)
}

// Deletion converges in every state of the gateway, and the home stays or goes as declared.
func TestProfileDeletion(t *testing.T) {
	const absent, down, up = "absent", "not running", "running"
	cases := []struct {
		gateway string
		policy  v1alpha1.DeletionPolicy
		// waits says that the deletion needs the gateway back.
		waits, homeStays bool
	}{
		{up, v1alpha1.DeletionRetain, false, true},
		{up, v1alpha1.DeletionDelete, false, false},
		{down, v1alpha1.DeletionRetain, false, true},
		{down, v1alpha1.DeletionDelete, true, false},
		{absent, v1alpha1.DeletionRetain, false, true},
		{absent, v1alpha1.DeletionDelete, false, true},
	}
	for _, c := range cases {
		t.Run(c.gateway+" "+string(c.policy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.served(func(s *v1alpha1.ProfileSpec) { s.DeletionPolicy = c.policy })
			gw := gateway("gw")
			gw.Namespace = w.ns
			switch c.gateway {
			case down:
				suite.engine.Observe(w.ref(), crashLoop)
				w.awaitCondition(gw, v1alpha1.ConditionRunning, no, v1alpha1.ReasonCrashLoop)
				w.settle()
			case absent:
				w.delete(gw)
				w.awaitGone(gw)
				w.settle()
			}
			w.delete(p)
			if c.waits {
				w.awaitReason(p, v1alpha1.ConditionReady, v1alpha1.ReasonDeleting)
				w.settle()
				suite.engine.Recover(w.ref())
			}
			w.awaitGone(p)
			s := w.homeSecret()
			if err := suite.client.Get(w.ctx(), client.ObjectKeyFromObject(s), s); !apierrors.IsNotFound(err) {
				t.Errorf("the home Secret outlived its Profile: %v", err)
			}
			if _, err := os.Stat(filepath.Join(w.homeOf("alice"), "config.yaml")); (err == nil) != c.homeStays {
				t.Errorf("home on disk stays: %v, want %v", err == nil, c.homeStays)
			}
			w.settle()
		})
	}
}

// A new object of the same name starts from nothing: old status, home Secret and claim do not stick to it.
func TestRecreatedProfile(t *testing.T) {
	w := newWorld(t)
	first := w.served()
	uid := first.UID
	w.delete(first)
	w.awaitGone(first)
	second := profile("alice")
	w.create(second)
	w.awaitCondition(second, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
	w.settle()
	s := w.homeSecret()
	w.get(s)
	if second.UID == uid || metav1.GetControllerOf(s).UID != second.UID {
		t.Errorf("home Secret of %s, want %s", metav1.GetControllerOf(s).UID, second.UID)
	}
}

// A finalizer that somebody took away comes back; other people's stay.
func TestFinalizers(t *testing.T) {
	w := newWorld(t)
	p := w.served()
	w.change(p, func() { p.Finalizers = []string{"example.com/theirs"} })
	w.await("both finalizers", func() (bool, string) {
		w.get(p)
		return len(p.Finalizers) == 2, strings.Join(p.Finalizers, " ")
	})
	w.settle()
	w.change(p, func() { p.Finalizers = []string{"example.com/theirs", v1alpha1.FinalizerHome} })
	w.delete(p)
	w.await("ours is released", func() (bool, string) {
		w.get(p)
		return len(p.Finalizers) == 1 && p.Finalizers[0] == "example.com/theirs", strings.Join(p.Finalizers, " ")
	})
	w.change(p, func() { p.Finalizers = nil })
	w.awaitGone(p)
}

// A Gateway goes only once nothing of it runs, and a new one of the same name starts a new run.
func TestGatewayDeletion(t *testing.T) {
	w := newWorld(t)
	g := gateway("gw")
	w.create(g)
	w.awaitCondition(g, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
	suite.engine.Hold(w.ref())
	w.delete(g)
	w.awaitReason(g, v1alpha1.ConditionReady, v1alpha1.ReasonDraining)
	w.settle()
	suite.engine.Release(w.ref())
	w.awaitGone(g)
	if _, runs := suite.engine.Workload(w.ref()); runs {
		t.Error("a run outlived its Gateway")
	}
	again := gateway("gw")
	w.create(again)
	w.awaitCondition(again, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
}

// An operator that starts over a settled and a broken system makes a pass over
// every object: it writes nothing, tells nothing and does not spin.
func TestSecondPassWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.create(secret("keys", map[string]string{"API_KEY": "k"}))
	w.served(credential)
	w.create(profile("nowhere", func(s *v1alpha1.ProfileSpec) { s.GatewayRef.Name = "missing" }))
	w.create(profile("waiting", fileFrom("a", "missing")))
	w.create(profile("invalid", config(`{"model": {"provider": "x"}}`)))
	w.create(gateway("none", func(s *v1alpha1.GatewaySpec) { s.Engine = v1alpha1.EngineKubernetes }))
	crashing := w.ref()
	crashing.Name = "crashing"
	suite.engine.Observe(crashing, crashLoop)
	w.create(gateway("crashing"))
	w.create(profile("down", func(s *v1alpha1.ProfileSpec) { s.GatewayRef.Name = "crashing" }))
	for _, r := range pendingRows {
		r.make(w)
	}
	w.create(brief(func(s *v1alpha1.ScheduleSpec) { s.ProfileRef.Name = "ready" }))
	wrong := brief(func(s *v1alpha1.ScheduleSpec) { s.ProfileRef.Name, s.Schedule = "ready", "now and then" })
	wrong.Name = "wrong"
	w.create(wrong)
	lost := brief(func(s *v1alpha1.ScheduleSpec) { s.ProfileRef.Name = "nobody" })
	lost.Name = "lost"
	w.create(lost)
	w.settle()
	if err := stopOperator(); err != nil {
		t.Fatal(err)
	}
	before := len(suite.traffic.of(w.ns))
	passes := reconciles(t)
	if err := startOperator(); err != nil {
		t.Fatal(err)
	}
	w.await("a pass over every profile", func() (bool, string) { return reconciles(t)["profile"]-passes["profile"] >= 5, "" })
	w.settle()
	if after := suite.traffic.of(w.ns); len(after) != before {
		t.Errorf("the second pass wrote: %v", after[before:])
	}
	passes = reconciles(t)
	w.quiet(5 * time.Second)
	for name, n := range reconciles(t) {
		if spun := n - passes[name]; spun > 0 {
			t.Errorf("controller %s made %v passes in 5s while nothing changed", name, spun)
		}
	}
}
