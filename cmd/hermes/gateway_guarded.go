package main

import "path/filepath"

// guarded is what the file tools of no profile may use beside the home root: the data directory, with the control plane
// and the homes of other gateways, and the kubeconfig.
func (c *cli) guarded() []string {
	var out []string
	if data, err := c.dataDir(); err == nil {
		out = append(out, string(data))
	}
	if path, err := filepath.Abs(c.kubeconfig); err == nil && c.kubeconfig != "" {
		if dir := filepath.Dir(path); filepath.Base(dir) == "controlplane" {
			path = filepath.Dir(dir) // a data directory, even when no flag names it
		}
		out = append(out, path)
	}
	return out
}
