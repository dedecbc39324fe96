package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/runtime/node"
)

// profile returns a Profile of gateway gw that needs nothing.
func profile(name string, changes ...func(*v1alpha1.ProfileSpec)) *v1alpha1.Profile {
	p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.GatewayRef.Name = "gw"
	p.Spec.Model.Provider = "demo"
	for _, c := range changes {
		c(&p.Spec)
	}
	return p
}

func gateway(name string, changes ...func(*v1alpha1.GatewaySpec)) *v1alpha1.Gateway {
	g := &v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, c := range changes {
		c(&g.Spec)
	}
	return g
}

func secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// alice makes gateway gw and a Profile of it.
func (w *world) alice(changes ...func(*v1alpha1.ProfileSpec)) client.Object {
	g := gateway("gw")
	w.create(g)
	w.await("the operator knows the gateway", func() (bool, string) { w.get(g); return len(g.Status.Conditions) > 0, "" })
	p := profile("alice", changes...)
	w.create(p)
	return p
}

// profilesOf returns what the gateway gw has open.
func (w *world) profilesOf() *memoryProfiles { return suite.nodes.of(w.ref()) }

func (w *world) ref() engine.Ref { return engine.Ref{Namespace: w.ns, Name: "gw"} }

// homeOf is the directory of a profile of gateway gw.
func (w *world) homeOf(name string) string {
	return filepath.Join(suite.homes, w.ns, "gw", "profiles", name)
}

func credential(s *v1alpha1.ProfileSpec) {
	s.Model.Credentials = []v1alpha1.ModelCredential{{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "keys", Key: "API_KEY"}}}
}

func fileFrom(name, configMapName string) func(*v1alpha1.ProfileSpec) {
	return func(s *v1alpha1.ProfileSpec) {
		if s.HomeFiles == nil {
			s.HomeFiles = map[string]v1alpha1.FileSource{}
		}
		s.HomeFiles[name] = v1alpha1.FileSource{From: &v1alpha1.ValueSource{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: configMapName, Key: "text"}}}
	}
}

func config(text string) func(*v1alpha1.ProfileSpec) {
	return func(s *v1alpha1.ProfileSpec) { s.Config = &apiextensionsv1.JSON{Raw: []byte(text)} }
}

// edit cures by changing the Profile.
func editProfile(f func(*v1alpha1.ProfileSpec)) func(*world, client.Object) {
	return func(w *world, o client.Object) { w.change(o, func() { f(&o.(*v1alpha1.Profile).Spec) }) }
}

func createSecret(name string, data map[string]string) func(*world, client.Object) {
	return func(w *world, _ client.Object) { w.create(secret(name, data)) }
}

// unwell makes the profile alice report h once it is open.
func unwell(reason, message string) func(*world) client.Object {
	return func(w *world) client.Object {
		w.profilesOf().setHealth("alice", node.Health{Reason: reason, Message: message})
		return w.alice()
	}
}

func well(w *world, _ client.Object) { w.profilesOf().setHealth("alice", node.Health{Message: "open"}) }

var (
	readyEvent = []string{"Normal Ready"}
	no         = metav1.ConditionFalse
	yes        = metav1.ConditionTrue
)

const (
	stalled     = v1alpha1.ConditionStalled
	reconciling = v1alpha1.ConditionReconciling
)

var profileRows = []row{
	{
		name: "profile is served", make: func(w *world) client.Object { return w.alice() },
		ready: yes, reason: v1alpha1.ReasonReady, events: readyEvent,
		also: map[string]string{
			v1alpha1.ConditionReferencesResolved: v1alpha1.ReasonResolved,
			v1alpha1.ConditionHomeRendered:       v1alpha1.ReasonRendered,
			v1alpha1.ConditionServed:             v1alpha1.ReasonServed,
		},
	},
	{
		name: "profile without its gateway", ready: no, reason: v1alpha1.ReasonGatewayNotFound, progress: stalled,
		make: func(w *world) client.Object {
			p := profile("alice")
			w.create(p)
			return p
		},
		events: []string{"Warning GatewayNotFound"},
		cure:   func(w *world, _ client.Object) { w.create(gateway("gw")) },
	},
	{
		name: "profile with a missing Secret", make: func(w *world) client.Object { return w.alice(credential) },
		ready: no, reason: v1alpha1.ReasonSecretNotFound, progress: stalled, events: []string{"Warning SecretNotFound"},
		cure: createSecret("keys", map[string]string{"API_KEY": "k"}),
	},
	{
		name: "profile with an emptied Secret", ready: no, reason: v1alpha1.ReasonCredentialMissing, progress: stalled,
		make: func(w *world) client.Object {
			w.create(secret("keys", map[string]string{"API_KEY": ""}))
			return w.alice(credential)
		},
		events: []string{"Warning CredentialMissing"},
		cure: func(w *world, _ client.Object) {
			s := secret("keys", nil)
			s.Namespace = w.ns
			w.change(s, func() { s.Data = map[string][]byte{"API_KEY": []byte("k")} })
		},
	},
	{
		name: "profile with a missing ConfigMap", ready: no, reason: v1alpha1.ReasonConfigMapNotFound, progress: stalled,
		make:   func(w *world) client.Object { return w.alice(fileFrom("notes.md", "files")) },
		events: []string{"Warning ConfigMapNotFound"},
		cure:   func(w *world, _ client.Object) { w.create(configMap("files", map[string]string{"text": "x"})) },
	},
	{
		name: "profile with a bad overlay", ready: no, reason: v1alpha1.ReasonConfigInvalid, progress: stalled,
		make: func(w *world) client.Object {
			return w.alice(config(`{"model": {"provider": "x"}}`))
		},
		events: []string{"Warning ConfigInvalid"}, cure: editProfile(func(s *v1alpha1.ProfileSpec) { s.Config = nil }),
	},
	{
		name: "profile with a file the runtime owns", ready: no, reason: v1alpha1.ReasonPathInvalid, progress: stalled,
		make: func(w *world) client.Object {
			text := "x"
			return w.alice(func(s *v1alpha1.ProfileSpec) {
				s.HomeFiles = map[string]v1alpha1.FileSource{"a//b": {Content: &text}}
			})
		},
		events: []string{"Warning PathInvalid"}, cure: editProfile(func(s *v1alpha1.ProfileSpec) { s.HomeFiles = nil }),
	},
	{
		name: "profile with too large a home", ready: no, reason: v1alpha1.ReasonHomeTooLarge, progress: stalled,
		make: func(w *world) client.Object {
			w.create(configMap("files", map[string]string{"text": strings.Repeat("x", 900_000)}))
			return w.alice(fileFrom("one", "files"), fileFrom("two", "files"))
		},
		events: []string{"Warning HomeTooLarge"},
		cure:   editProfile(func(s *v1alpha1.ProfileSpec) { s.HomeFiles = nil }),
	},
	{
		name: "profile whose home Secret is somebody else's", ready: no, reason: v1alpha1.ReasonForeignObject, progress: stalled,
		make: func(w *world) client.Object {
			w.create(secret("hermes-home-alice", map[string]string{"mine": "1"}))
			return w.alice()
		},
		events: []string{"Warning ForeignObject"},
		check:  foreignSecretIsUntouched,
		cure: func(w *world, _ client.Object) {
			s := secret("hermes-home-alice", nil)
			s.Namespace = w.ns
			w.delete(s)
		},
	},
	{
		name: "profile is suspended", ready: no, reason: v1alpha1.ReasonSuspended, events: []string{"Normal Suspended"},
		make: func(w *world) client.Object { return w.alice(func(s *v1alpha1.ProfileSpec) { s.Suspended = true }) },
		cure: editProfile(func(s *v1alpha1.ProfileSpec) { s.Suspended = false }),
	},
	{
		name: "profile whose gateway crashes", ready: no, reason: v1alpha1.ReasonWaitingForGateway, progress: reconciling,
		make: func(w *world) client.Object {
			suite.engine.Observe(w.ref(), crashLoop)
			return w.alice()
		},
		cure: func(w *world, _ client.Object) { suite.engine.Recover(w.ref()) },
	},
	{
		name: "profile whose gateway drains after it was served", ready: no, reason: v1alpha1.ReasonWaitingForGateway, progress: reconciling,
		make: func(w *world) client.Object {
			p := w.alice()
			w.awaitCondition(p, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			suite.engine.Observe(w.ref(), engine.Observation{Reason: v1alpha1.ReasonNotResponding, Message: "does not answer", Instance: &v1alpha1.GatewayInstance{}})
			return p
		},
		events: []string{"Normal Ready", "Warning WaitingForGateway"},
		cure:   func(w *world, _ client.Object) { suite.engine.Recover(w.ref()) },
	},
	{
		name: "profile with a damaged store", make: unwell(v1alpha1.ReasonStoreCorrupt, "state.db is damaged"), cure: well,
		ready: no, reason: v1alpha1.ReasonStoreCorrupt, progress: stalled, events: []string{"Warning StoreCorrupt"},
	},
	{
		name: "profile whose store cannot be opened", make: unwell(v1alpha1.ReasonStoreUnavailable, "no space"), cure: well,
		ready: no, reason: v1alpha1.ReasonStoreUnavailable, progress: reconciling,
	},
	{
		name: "profile whose runtime failed", make: unwell(v1alpha1.ReasonRuntimeFailed, "panic"), cure: well,
		ready: no, reason: v1alpha1.ReasonRuntimeFailed, progress: reconciling,
	},
	{
		name: "profile whose model refuses its key", make: unwell(v1alpha1.ReasonModelRefused, "401 from models.example.com"), cure: well,
		ready: no, reason: v1alpha1.ReasonModelRefused, progress: stalled, events: []string{"Warning ModelRefused"},
	},
	{
		name: "profile whose model needs a key and has none", make: unwell(v1alpha1.ReasonCredentialMissing, "provider openai needs an API key"), cure: well,
		ready: no, reason: v1alpha1.ReasonCredentialMissing, progress: stalled, events: []string{"Warning CredentialMissing"},
	},
	{
		name: "profile whose model cannot be reached", make: unwell(v1alpha1.ReasonModelUnreachable, "cannot connect to models.example.com"), cure: well,
		ready: no, reason: v1alpha1.ReasonModelUnreachable, progress: reconciling,
	},
	{
		name: "profile whose home is in use", ready: no, reason: v1alpha1.ReasonHomeInUse, progress: stalled,
		make: func(w *world) client.Object {
			w.profilesOf().setFail("alice", &node.Refusal{Reason: v1alpha1.ReasonHomeInUse, Err: errors.New("another process has it open: stop it")})
			return w.alice()
		},
		events: []string{"Warning HomeInUse"},
		cure:   func(w *world, _ client.Object) { w.profilesOf().setFail("alice", nil) },
	},
	{
		name: "profile whose home cannot be written", ready: no, reason: v1alpha1.ReasonHomeWriteFailed, progress: reconciling,
		make: func(w *world) client.Object {
			w.writeFile(filepath.Dir(w.homeOf("alice")), "in the way")
			return w.alice()
		},
		cure: func(w *world, o client.Object) {
			w.remove(filepath.Dir(w.homeOf("alice")))
			w.profilesOf().setFail("alice", nil) // something happened: look again now, not at the end of the back-off
		},
	},
	{
		name: "profile with a file in the way", ready: no, reason: v1alpha1.ReasonFileConflict, progress: stalled,
		make: func(w *world) client.Object {
			w.writeFile(filepath.Join(w.homeOf("alice"), "SOUL.md"), "somebody's")
			return w.alice(func(s *v1alpha1.ProfileSpec) { text := "ours"; s.Identity = &v1alpha1.IdentitySpec{Soul: &text} })
		},
		events: []string{"Warning FileConflict"},
		cure: func(w *world, o client.Object) {
			w.remove(filepath.Join(w.homeOf("alice"), "SOUL.md"))
			w.profilesOf().setFail("alice", nil)
		},
	},
}

func foreignSecretIsUntouched(w *world, _ client.Object) {
	s := secret("hermes-home-alice", nil)
	s.Namespace = w.ns
	w.get(s)
	if string(s.Data["mine"]) != "1" || len(s.Data) != 1 || len(s.Labels) != 0 || len(s.OwnerReferences) != 0 || len(s.Annotations) != 0 {
		w.Errorf("a foreign Secret was touched: %+v", s)
	}
}

func (w *world) writeFile(path, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove(path string) {
	w.Helper()
	if err := os.Remove(path); err != nil {
		w.Fatal(err)
	}
}
