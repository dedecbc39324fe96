package statusview

import (
	"fmt"
	"regexp"
	"strings"

	"hermes.dev/hermes/api/v1alpha1"
)

// remedy is a command that helps with a row's reason, chosen from what its conditions say now. The commands
// work as they are written: they go to the control plane that hermes status shows, and they do not depend
// on whether an object exists already.
func remedy(row Row) string {
	if row.Kind == manifestKind {
		return "" // the file is read again as soon as it is changed
	}
	switch row.Reason {
	case v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonCredentialMissing:
		if name, key, ok := namedInMessage(row.Message); ok {
			return create("Secret", "stringData", name, key, row.Namespace)
		}
		if row.Reason == v1alpha1.ReasonCredentialMissing {
			return "hermes explain profile.spec.model.credentials"
		}
	case v1alpha1.ReasonModelRefused:
		return "hermes explain profile.spec.model"
	case v1alpha1.ReasonConfigMapNotFound:
		if name, key, ok := namedInMessage(row.Message); ok {
			return create("ConfigMap", "data", name, key, row.Namespace)
		}
	case v1alpha1.ReasonGatewayNotFound:
		return "hermes get gateways" + flagFor(row.Namespace)
	case v1alpha1.ReasonProfileNotFound:
		return "hermes get profiles" + flagFor(row.Namespace)
	case v1alpha1.ReasonConfigInvalid:
		if strings.Contains(row.Message, "cannot be read as YAML") {
			return "" // a file on disk: the message names it and what to do
		}
		return "hermes explain profile.spec.config"
	case v1alpha1.ReasonPathInvalid:
		return "hermes explain profile.spec.homeFiles"
	case v1alpha1.ReasonHomeNotOurs:
		return "hermes explain gateway.spec.adoptExistingHome"
	case v1alpha1.ReasonHomeClaimed, v1alpha1.ReasonHostOwnedElsewhere:
		return "hermes explain gateway.spec.home"
	case v1alpha1.ReasonOutOfMemory:
		return "hermes explain gateway.spec.process.memoryLimit"
	case v1alpha1.ReasonOutdated:
		return "hermes gateway restart " + row.Name + flagFor(row.Namespace)
	case v1alpha1.ReasonScheduleInvalid:
		return "hermes explain schedule.spec.schedule"
	case v1alpha1.ReasonTimezoneInvalid:
		return "hermes explain schedule.spec.timezone"
	case v1alpha1.ReasonDeliverInvalid:
		return "hermes explain schedule.spec.deliver"
	case v1alpha1.ReasonReconciling, v1alpha1.ReasonStarting, v1alpha1.ReasonDraining, v1alpha1.ReasonDeleting, "Pending":
		return "" // waiting is the remedy
	}
	return statusOf(row)
}

// statusOf shows one row in full.
func statusOf(row Row) string {
	return fmt.Sprintf("hermes status %s/%s", strings.ToLower(row.Kind), row.Name) + flagFor(row.Namespace)
}

// gatewayNotFound says in one line which Gateway is missing and which ones there are; "" when none is known.
func gatewayNotFound(p *v1alpha1.Profile, gateways []v1alpha1.Gateway) string {
	var names []string
	for i := range gateways {
		if gateways[i].Namespace == p.Namespace {
			names = append(names, gateways[i].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return fmt.Sprintf("%s: no %q, there is %s", v1alpha1.ReasonGatewayNotFound, p.Spec.GatewayRef.Name, strings.Join(names, ", "))
}

// profileRemedy is remedy with what only a Profile's spec knows.
func profileRemedy(p *v1alpha1.Profile, row Row) string {
	switch row.Reason {
	case v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonCredentialMissing:
		name, key, ok := namedInMessage(row.Message)
		if wanted := keyOf(p, name); ok && key == placeholder && wanted != "" {
			return create("Secret", "stringData", name, wanted, p.Namespace)
		}
	case v1alpha1.ReasonModelRefused:
		// A key the provider does not take is replaced where it is declared.
		if strings.Contains(row.Message, ": 401 from ") && len(p.Spec.Model.Credentials) > 0 {
			ref := p.Spec.Model.Credentials[0].SecretKeyRef
			return create("Secret", "stringData", ref.Name, ref.Key, p.Namespace)
		}
	case v1alpha1.ReasonModelUnreachable:
		return "hermes chat -p " + p.Name + flagFor(p.Namespace) // once the server is back: a turn that succeeds clears it
	case v1alpha1.ReasonWaitingForGateway:
		gateway := p.Spec.GatewayRef.Name
		if gateway == "" {
			gateway = v1alpha1.DefaultGatewayName
		}
		return "hermes status gateway/" + gateway + flagFor(p.Namespace)
	}
	return ""
}

// keyOf is the first key a profile wants of a Secret, "" when it wants none by name.
func keyOf(p *v1alpha1.Profile, secret string) string {
	var refs []v1alpha1.SecretKeyRef
	for _, c := range p.Spec.Model.Credentials {
		refs = append(refs, c.SecretKeyRef)
	}
	for _, f := range p.Spec.Model.Fallbacks {
		for _, c := range f.Credentials {
			refs = append(refs, c.SecretKeyRef)
		}
	}
	for _, e := range p.Spec.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			refs = append(refs, *e.ValueFrom.SecretKeyRef)
		}
	}
	for _, ref := range refs {
		if ref.Name == secret {
			return ref.Key
		}
	}
	return ""
}

// placeholder stands for a key that nothing names.
const placeholder = "KEY"

var (
	quotedObject = regexp.MustCompile(`(?:Secret|ConfigMap) "([a-z0-9.-]+)"`)
	quotedKey    = regexp.MustCompile(`key "([A-Za-z0-9._-]+)"`)
)

// namedInMessage reads which object and key a message is about. The key is the placeholder when the message names none.
// Only names that are safe in a command line are taken.
func namedInMessage(message string) (name, key string, ok bool) {
	object := quotedObject.FindStringSubmatch(message)
	if object == nil {
		return "", "", false
	}
	key = placeholder
	if found := quotedKey.FindStringSubmatch(message); found != nil {
		key = found[1]
	}
	return object[1], key, true
}

// create works whether the object exists or not, and needs no other program. It is one line of YAML in double
// quotes: a shell drops the backslash and the newline where the line is broken between words, and YAML does
// not mind the spaces.
func create(kind, field, name, key, namespace string) string {
	return fmt.Sprintf(`echo "{apiVersion: v1, kind: %s, metadata: {name: %s}, %s: {%s: '…'}}" | hermes apply -f -%s`,
		kind, name, field, key, flagFor(namespace))
}

func flagFor(namespace string) string {
	if namespace == "" || namespace == "default" {
		return ""
	}
	return " -n " + namespace
}
