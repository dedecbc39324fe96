// Package v1alpha1 holds the five kinds of hermes.dev: Profile, Gateway,
// RelayIdentity, MetricsConsent and Schedule.
//
// It owns types, admission rules (CEL), defaults, printer columns, condition
// types and reasons. It imports nothing else of this project, so that a client
// can use it alone.
//
// +kubebuilder:object:generate=true
// +groupName=hermes.dev
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "hermes.dev", Version: "v1alpha1"}

// SchemeBuilder registers the kinds of this package.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds the kinds of this package to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Profile{}, &ProfileList{},
		&Gateway{}, &GatewayList{},
		&RelayIdentity{}, &RelayIdentityList{},
		&MetricsConsent{}, &MetricsConsentList{},
		&Schedule{}, &ScheduleList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
