package controlplane

import "path/filepath"

// Layout names the paths in the data directory of an embedded control plane that others may use.
type Layout struct{ Dir string }

// Kubeconfig is the administrator's kubeconfig. It exists once the control plane has been ready.
func (l Layout) Kubeconfig() string { return filepath.Join(l.Dir, "kubeconfig") }

// GatewayKubeconfig is the kubeconfig that gateways use. Its identity has only the rights RBAC grants to
// the group GatewayGroup.
func (l Layout) GatewayKubeconfig() string { return filepath.Join(l.Dir, "gateway.kubeconfig") }

// Address is the file that remembers the address chosen by ChooseAddress.
func (l Layout) Address() string { return filepath.Join(l.Dir, "address") }

// Log is the file the control plane's output goes to, rotated.
func (l Layout) Log() string { return filepath.Join(l.Dir, "apiserver.log") }

// Lock is the file that names the process which owns the directory.
func (l Layout) Lock() string { return filepath.Join(l.Dir, "apiserver.lock") }

// GatewayGroup and GatewayUser are what the token in GatewayKubeconfig authenticates as.
const (
	GatewayGroup = "hermes:gateways"
	GatewayUser  = "hermes:gateway"
)
