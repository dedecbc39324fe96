package server

import (
	"context"
	"fmt"
	"net"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	genericfeatures "k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/server/egressselector"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/datadir"
	"hermes.dev/hermes/cmd/hermes-apiserver/internal/storage"
)

// Config is everything a server needs from outside.
type Config struct {
	Layout   datadir.Layout
	Listener net.Listener
	// URL is how clients reach Listener.
	URL string
	// Dial connects to the storage backend.
	Dial utilnet.DialFunc
	// Profiling serves /debug/pprof to the administrator.
	Profiling bool
}

// admissionOn are the plugins of a control plane without workloads.
var admissionOn = []string{
	lifecycle.PluginName,
	mutatingpolicy.PluginName,
	validatingpolicy.PluginName,
	mutatingwebhook.PluginName,
	validatingwebhook.PluginName,
}

// featuresOff are gates that only make sense with several API servers: identity leases would be renewed
// for nobody, each a write every ten seconds.
var featuresOff = map[string]bool{
	string(genericfeatures.APIServerIdentity):                   false,
	string(genericfeatures.UnknownVersionInteroperabilityProxy): false,
}

func setFeatures() error {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(featuresOff); err != nil {
		return fmt.Errorf("set feature gates: %w", err)
	}
	return nil
}

func completeOptions(ctx context.Context, cfg Config) (options.CompletedOptions, error) {
	o := options.NewOptions()
	applyServing(o, cfg)
	applyStorage(o, cfg)
	applyAuth(o, cfg)

	o.Admission.GenericAdmission.DefaultOffPlugins = sets.New(kubeoptions.AllOrderedPlugins...).Delete(admissionOn...)
	// Priority and fairness guards a shared server against its tenants; here it would only cost memory.
	// The in-flight limits stay.
	o.Features.EnablePriorityAndFairness = false
	o.Features.EnableProfiling = cfg.Profiling
	// kubectl lists namespaces a person made; kube-public and kube-node-lease mean nothing here.
	o.SystemNamespaces = []string{"kube-system", "default"}

	completed, err := o.Complete(ctx, nil, nil)
	if err != nil {
		return completed, fmt.Errorf("complete options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return completed, fmt.Errorf("validate options: %w", errs[0])
	}
	return completed, nil
}

func applyServing(o *options.Options, cfg Config) {
	addr := cfg.Listener.Addr().(*net.TCPAddr)
	o.SecureServing.Listener = cfg.Listener
	o.SecureServing.BindAddress = addr.IP
	o.SecureServing.BindPort = addr.Port
	o.SecureServing.ExternalAddress = addr.IP
	o.SecureServing.ServerCert.CertKey.CertFile = cfg.Layout.ServerCert()
	o.SecureServing.ServerCert.CertKey.KeyFile = cfg.Layout.ServerCert()
	o.GenericServerRunOptions.AdvertiseAddress = addr.IP
	o.GenericServerRunOptions.ExternalHost = addr.String()
	// Without this the server waits for watches as for any other request, and they never end by themselves.
	o.GenericServerRunOptions.ShutdownWatchTerminationGracePeriod = watchBudget
}

func applyStorage(o *options.Options, cfg Config) {
	s := &o.Etcd.StorageConfig
	s.Transport.ServerList = []string{storage.Endpoint}
	s.Transport.EgressLookup = func(egressselector.NetworkContext) (utilnet.DialFunc, error) { return cfg.Dial, nil }
	s.CompactionInterval = 0 // kine compacts
	s.HealthcheckTimeout = 2 * time.Second
	o.Etcd.EncryptionProviderConfigFilepath = cfg.Layout.Encryption()
	o.Etcd.EnableWatchCache = true
}

func applyAuth(o *options.Options, cfg Config) {
	o.Authentication.Anonymous.Allow = false
	o.Authentication.TokenFile.TokenFile = cfg.Layout.Tokens()
	o.Authentication.ServiceAccounts.Issuers = []string{cfg.URL}
	o.Authentication.ServiceAccounts.KeyFiles = []string{cfg.Layout.ServiceAccountKey()}
	o.Authentication.ServiceAccounts.OptionalTokenGetter = newTokenGetter
	o.ServiceAccountSigningKeyFile = cfg.Layout.ServiceAccountKey()
	o.Authorization.Modes = []string{"RBAC"}
}
