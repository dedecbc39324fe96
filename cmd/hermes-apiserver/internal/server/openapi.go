package server

import (
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
)

// openAPIPrefixes are the definitions that something served here refers to.
var openAPIPrefixes = []string{
	"io.k8s.api.admissionregistration.v1.",
	"io.k8s.api.authentication.v1.",
	"io.k8s.api.authorization.v1.",
	"io.k8s.api.autoscaling.v1.", // the scale subresource
	"io.k8s.api.coordination.v1.",
	"io.k8s.api.core.v1.",
	"io.k8s.api.events.v1.",
	"io.k8s.api.rbac.v1.",
	"io.k8s.apiextensions-apiserver.",
	"io.k8s.apimachinery.",
	"io.k8s.kube-aggregator.",
}

// openAPIDefinitions drops the definitions of everything a cluster has and this control plane has not:
// the server keeps all it is given for as long as it lives.
func openAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := generatedopenapi.GetOpenAPIDefinitions(ref)
	served := make(map[string]common.OpenAPIDefinition, len(all)/4)
	for name, definition := range all {
		if servedDefinition(name) {
			served[name] = definition
		}
	}
	return served
}

func servedDefinition(name string) bool {
	for _, prefix := range openAPIPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
