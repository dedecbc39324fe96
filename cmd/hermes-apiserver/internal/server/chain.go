package server

import (
	"fmt"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/kubernetes"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	admissionregistrationrest "k8s.io/kubernetes/pkg/registry/admissionregistration/rest"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	authorizationrest "k8s.io/kubernetes/pkg/registry/authorization/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	eventsrest "k8s.io/kubernetes/pkg/registry/events/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/nesting"
)

const serverName = "hermes-apiserver"

// apiServerCount tells the CRD handler that nobody else has to notice a new CRD before it is served:
// with more than one it would wait 5 s before establishing each.
const apiServerCount = 1

func servedVersions() *serverstorage.ResourceConfig {
	c := serverstorage.NewResourceConfig()
	c.EnableVersions(
		corev1.SchemeGroupVersion,
		eventsv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion,
		rbacv1.SchemeGroupVersion,
		authenticationv1.SchemeGroupVersion,
		authorizationv1.SchemeGroupVersion,
		admissionregistrationv1.SchemeGroupVersion,
	)
	return c
}

// chain is the three servers that answer a request, in the order they are asked:
// aggregator, built-in APIs, custom resources.
type chain struct {
	aggregator *aggregatorapiserver.APIAggregator
	native     *controlplaneapiserver.Server
}

func newChain(opts options.CompletedOptions) (*chain, error) {
	generic, informers, factory, err := controlplaneapiserver.BuildGenericConfig(opts,
		[]*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme},
		servedVersions(), openAPIDefinitions, nil)
	if err != nil {
		return nil, fmt.Errorf("configure the generic server: %w", err)
	}
	handlers := generic.BuildHandlerChainFunc
	generic.BuildHandlerChainFunc = func(api http.Handler, c *genericapiserver.Config) http.Handler {
		return handlers(nesting.Limit(api), c)
	}
	generic.DisabledPostStartHooks.Insert(rbacrest.PostStartHookName) // see addRolesHook
	resolver := webhook.NewDefaultServiceResolver()
	native, initializers, err := controlplaneapiserver.CreateConfig(opts, generic, informers, nil, factory, resolver, nil)
	if err != nil {
		return nil, fmt.Errorf("configure the built-in APIs: %w", err)
	}
	auth := webhook.NewDefaultAuthenticationInfoResolverWrapper(native.ProxyTransport, generic.EgressSelector,
		generic.LoopbackClientConfig, generic.TracerProvider)
	crds, err := controlplaneapiserver.CreateAPIExtensionsConfig(*generic, informers, initializers, opts, apiServerCount, resolver, auth)
	if err != nil {
		return nil, fmt.Errorf("configure custom resources: %w", err)
	}
	aggregator, err := controlplaneapiserver.CreateAggregatorConfig(*generic, opts, informers, resolver,
		native.ProxyTransport, nil, initializers)
	if err != nil {
		return nil, fmt.Errorf("configure the aggregator: %w", err)
	}
	// There are no aggregated API servers to probe.
	aggregator.ExtraConfig.DisableRemoteAvailableConditionController = true
	return assemble(crds.Complete(), native.Complete(), aggregator.Complete())
}

func assemble(
	crdConfig apiextensionsapiserver.CompletedConfig,
	nativeConfig controlplaneapiserver.CompletedConfig,
	aggregatorConfig aggregatorapiserver.CompletedConfig,
) (*chain, error) {
	notFound := notfoundhandler.New(nativeConfig.Generic.Serializer, genericapifilters.NoMuxAndDiscoveryIncompleteKey)
	crds, err := crdConfig.New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, fmt.Errorf("create the custom resource server: %w", err)
	}
	native, err := nativeConfig.New(serverName, crds.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("create the built-in API server: %w", err)
	}
	providers, err := builtIns(nativeConfig)
	if err != nil {
		return nil, err
	}
	if err := native.InstallAPIs(providers...); err != nil {
		return nil, fmt.Errorf("install the built-in APIs: %w", err)
	}
	if err := addRolesHook(native.GenericAPIServer); err != nil {
		return nil, fmt.Errorf("install the default roles: %w", err)
	}
	aggregator, err := controlplaneapiserver.CreateAggregatorServer(aggregatorConfig, native.GenericAPIServer,
		crds.Informers.Apiextensions().V1().CustomResourceDefinitions(), true,
		controlplaneapiserver.DefaultGenericAPIServicePriorities())
	if err != nil {
		return nil, fmt.Errorf("create the aggregator: %w", err)
	}
	return &chain{aggregator: aggregator, native: native}, nil
}

// builtIns is the part of GenericStorageProviders that this control plane serves; the order is the one in
// which an unqualified resource name is resolved.
func builtIns(c controlplaneapiserver.CompletedConfig) ([]controlplaneapiserver.RESTStorageProvider, error) {
	client, err := kubernetes.NewForConfig(c.Generic.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	return []controlplaneapiserver.RESTStorageProvider{
		c.NewCoreGenericConfig(),
		authenticationrest.RESTStorageProvider{Authenticator: c.Generic.Authentication.Authenticator, APIAudiences: c.Generic.Authentication.APIAudiences},
		authorizationrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer, RuleResolver: c.Generic.RuleResolver},
		coordinationrest.RESTStorageProvider{},
		rbacrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer},
		admissionregistrationrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer, DiscoveryClient: client.Discovery()},
		eventsrest.RESTStorageProvider{TTL: c.EventTTL},
	}, nil
}
