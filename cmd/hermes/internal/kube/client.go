package kube

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/datadir"
)

// Client reaches one control plane. It implements the RESTClientGetter of cli-runtime, so that the kubectl
// commands run on it unchanged.
type Client struct {
	// Source says which control plane this is.
	Source datadir.Source

	loader    clientcmd.ClientConfig
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
}

// New reads the kubeconfig of a source. namespace overrides the kubeconfig's own when it is not empty.
// Nothing is sent yet.
func New(source datadir.Source, namespace string) *Client {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(source.Kubeconfig), WarnIfAllMissing: false}
	if source.Kind == datadir.FromFlag {
		rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: source.Kubeconfig}
	}
	overrides := &clientcmd.ConfigOverrides{Context: contextWith(namespace)}
	return &Client{Source: source, loader: clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)}
}

// ToRESTConfig is the client configuration, without client-side rate limits.
func (c *Client) ToRESTConfig() (*rest.Config, error) {
	cfg, err := c.loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Source.Kubeconfig, err)
	}
	cfg.QPS = -1
	cfg.UserAgent = "hermes"
	return cfg, nil
}

// ToRawKubeConfigLoader is the kubeconfig with its overrides.
func (c *Client) ToRawKubeConfigLoader() clientcmd.ClientConfig { return c.loader }

// ToDiscoveryClient asks the server for its kinds, at most once in the life of the client.
func (c *Client) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	if c.discovery != nil {
		return c.discovery, nil
	}
	cfg, err := c.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	c.discovery = memory.NewMemCacheClient(client)
	return c.discovery, nil
}

// ToRESTMapper resolves kinds, ours first and without discovery.
func (c *Client) ToRESTMapper() (meta.RESTMapper, error) {
	if c.mapper != nil {
		return c.mapper, nil
	}
	found, err := c.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	deferred := restmapper.NewDeferredDiscoveryRESTMapper(found)
	c.mapper = OursFirst(restmapper.NewShortcutExpander(deferred, found, nil))
	return c.mapper, nil
}

// Namespace is what -n or the kubeconfig says, else "default".
func (c *Client) Namespace() (string, error) {
	namespace, _, err := c.loader.Namespace()
	if err != nil {
		return "", fmt.Errorf("kubeconfig %s: %w", c.Source.Kubeconfig, err)
	}
	return namespace, nil
}

// Hermes is a typed REST client for our group.
func (c *Client) Hermes() (rest.Interface, error) {
	cfg, err := c.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return HermesClient(cfg)
}

// HermesClient is a typed REST client for our group at any control plane. It asks for no discovery.
func HermesClient(cfg *rest.Config) (rest.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	gv := v1alpha1.GroupVersion
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(Scheme()).WithoutConversion()
	cfg.ContentType = runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return client, nil
}

func contextWith(namespace string) clientcmdapi.Context {
	return clientcmdapi.Context{Namespace: namespace}
}
