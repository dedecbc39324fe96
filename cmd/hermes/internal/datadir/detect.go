package datadir

import (
	"os"
	"path/filepath"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// Detect looks at this machine for Choose. flag is --kubeconfig, dataFlag is --data.
func Detect(flag, dataFlag string, getenv Getenv) (Found, error) {
	data, err := Resolve(dataFlag, getenv)
	if err != nil {
		return Found{}, err
	}
	if flag != "" {
		if _, err := os.Stat(flag); err != nil {
			return Found{}, exit.Usagef("--kubeconfig: %w", err)
		}
	} else if err := data.Ours(); err != nil {
		return Found{}, err
	}
	f := Found{
		Flag:       flag,
		Data:       data,
		DataNamed:  Named(dataFlag, getenv),
		Kubeconfig: kubeconfigFrom(getenv),
		HomeConfig: homeKubeconfig(getenv),
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
	path := homeKubeconfig(getenv)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

func homeKubeconfig(getenv Getenv) string { return filepath.Join(getenv("HOME"), ".kube", "config") }
