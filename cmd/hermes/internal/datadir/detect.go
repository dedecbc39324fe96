package datadir

import (
	"fmt"
	"os"
	"path/filepath"
)

// Detect looks at this machine for Choose. flag is --kubeconfig, dataFlag is --data.
func Detect(flag, dataFlag string, getenv Getenv) (Found, error) {
	data, err := Resolve(dataFlag, getenv)
	if err != nil {
		return Found{}, err
	}
	if flag != "" {
		if _, err := os.Stat(flag); err != nil {
			return Found{}, fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	f := Found{
		Flag:       flag,
		Data:       data,
		DataNamed:  Named(dataFlag, getenv),
		Kubeconfig: kubeconfigFrom(getenv),
	}
	if _, err := os.Stat(data.ControlPlane().Kubeconfig()); err == nil {
		f.LocalExists = true
	}
	_, f.LocalRuns = data.Up()
	return f, nil
}

func kubeconfigFrom(getenv Getenv) string {
	if list := getenv("KUBECONFIG"); list != "" {
		return list
	}
	path := filepath.Join(getenv("HOME"), ".kube", "config")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
