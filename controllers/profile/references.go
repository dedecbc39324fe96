package profile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
	"hermes.dev/hermes/runtime/home"
)

// resolve reads every referenced value and renders the home. A value that is
// missing or empty is left out, so that a deleted Secret revokes: there is no
// older value, other profile or process environment to fall back to.
func (r *Reconciler) resolve(ctx context.Context, s *scope) error {
	resolved, err := r.readValues(ctx, s.profile)
	s.values = resolved
	if err != nil {
		s.references = conditions.FromError(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonReconciling, err)
		s.homeRendered = conditions.Waiting(v1alpha1.ConditionHomeRendered, v1alpha1.ReasonReconciling, "waiting for references")
		return err
	}
	bundle, err := home.Render(s.profile, resolved)
	if err != nil {
		s.homeRendered = renderFailure(err)
		return r.revoke(ctx, s, resolved)
	}
	s.references = referencesFinding(s, bundle.Missing)
	s.bundle, s.rendered, s.hash = bundle, true, bundle.Hash()
	s.homeRendered = conditions.OK(v1alpha1.ConditionHomeRendered, v1alpha1.ReasonRendered, "home "+s.hash)
	return nil
}

// revoke is for a Profile that cannot be rendered: the home it has stays in force,
// without the values that its references no longer give.
func (r *Reconciler) revoke(ctx context.Context, s *scope, resolved home.Resolved) error {
	last, ok, err := r.lastHome(ctx, s.profile)
	if err != nil {
		s.references = referencesFinding(s, nil)
		return fmt.Errorf("read the home rendered last: %w", err)
	}
	now := home.Revoke(last, s.profile, resolved)
	s.references = referencesFinding(s, now.Missing)
	if ok {
		s.bundle, s.rendered, s.hash = now, true, now.Hash()
	}
	return nil
}

func renderFailure(err error) conditions.Finding {
	reason := home.Reason(err)
	if reason == "" {
		reason = v1alpha1.ReasonConfigInvalid
	}
	return conditions.Stalled(v1alpha1.ConditionHomeRendered, reason, err.Error())
}

// readValues reads each referenced Secret and ConfigMap once, from the API server.
func (r *Reconciler) readValues(ctx context.Context, p *v1alpha1.Profile) (home.Resolved, error) {
	out := home.Resolved{Secrets: map[string]map[string][]byte{}, ConfigMaps: map[string]map[string][]byte{}}
	seen := map[string]bool{}
	for _, ref := range home.References(p) {
		id := ref.Kind + "/" + ref.Name
		if seen[id] {
			continue
		}
		seen[id] = true
		key := types.NamespacedName{Namespace: p.Namespace, Name: ref.Name}
		var err error
		switch ref.Kind {
		case home.KindSecret:
			err = r.readSecret(ctx, key, out)
		case home.KindConfigMap:
			err = r.readConfigMap(ctx, key, out)
		}
		if err != nil {
			return out, fmt.Errorf("read %s %s: %w", ref.Kind, ref.Name, err)
		}
	}
	return out, nil
}

func (r *Reconciler) readSecret(ctx context.Context, key types.NamespacedName, out home.Resolved) error {
	o := &corev1.Secret{}
	if err := r.Values.Get(ctx, key, o); err != nil {
		return ignoreAbsent(err)
	}
	out.Secrets[key.Name] = o.Data
	if o.Data == nil {
		out.Secrets[key.Name] = map[string][]byte{}
	}
	return nil
}

func (r *Reconciler) readConfigMap(ctx context.Context, key types.NamespacedName, out home.Resolved) error {
	o := &corev1.ConfigMap{}
	if err := r.Values.Get(ctx, key, o); err != nil {
		return ignoreAbsent(err)
	}
	data := map[string][]byte{}
	for k, v := range o.Data {
		data[k] = []byte(v)
	}
	for k, v := range o.BinaryData {
		data[k] = v
	}
	out.ConfigMaps[key.Name] = data
	return nil
}

func ignoreAbsent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// referencesFinding says which reference is missing, the gateway first.
func referencesFinding(s *scope, missing []home.MissingRef) conditions.Finding {
	if s.gateway == nil {
		name := s.profile.Spec.GatewayRef.Name
		return conditions.Stalled(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonGatewayNotFound,
			fmt.Sprintf("Gateway %q does not exist in namespace %s: create it, or name another one in spec.gatewayRef.name", name, s.profile.Namespace))
	}
	if len(missing) == 0 {
		return conditions.OK(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonResolved, "every reference is there")
	}
	// An object that is not there at all explains its missing keys, so it comes first.
	slices.SortStableFunc(missing, func(a, b home.MissingRef) int { return boolOrder(b.NotFound) - boolOrder(a.NotFound) })
	texts := make([]string, 0, len(missing))
	for _, m := range missing {
		texts = append(texts, missingText(m, keysOf(s.values, m)))
	}
	return conditions.Stalled(v1alpha1.ConditionReferencesResolved, missingReason(missing[0]), strings.Join(texts, "; "))
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

func missingReason(m home.MissingRef) string {
	switch {
	case m.Kind == home.KindConfigMap:
		return v1alpha1.ReasonConfigMapNotFound
	case m.NotFound:
		return v1alpha1.ReasonSecretNotFound
	default:
		return v1alpha1.ReasonCredentialMissing
	}
}

// keysShown bounds how many keys of an object a message lists.
const keysShown = 5

// keysOf is the keys that an object has, sorted: names are no secret, and a typo is seen at once beside them.
func keysOf(values home.Resolved, m home.MissingRef) []string {
	object := values.Secrets[m.Name]
	if m.Kind == home.KindConfigMap {
		object = values.ConfigMaps[m.Name]
	}
	return slices.Sorted(maps.Keys(object))
}

func missingText(m home.MissingRef, keys []string) string {
	if m.NotFound {
		return fmt.Sprintf("%s %q does not exist (%s)", m.Kind, m.Name, m.Field)
	}
	text := fmt.Sprintf("%s %q has no value for key %q (%s)", m.Kind, m.Name, m.Key, m.Field)
	switch {
	case len(keys) == 0 || slices.Contains(keys, m.Key): // an empty value is not about another key
		return text
	case len(keys) > keysShown:
		return fmt.Sprintf("%s, it has %s and %d more", text, strings.Join(keys[:keysShown], ", "), len(keys)-keysShown)
	}
	return text + ", it has " + strings.Join(keys, ", ")
}
