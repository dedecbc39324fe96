package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BinaryName is the file name of the embedded control plane.
const BinaryName = "hermes-apiserver"

// FindBinary returns the path of hermes-apiserver: explicit if it is not empty (and then nothing else is
// tried), else beside the running executable, else in ../libexec beside it, else on PATH. The error says
// how to get one.
func FindBinary(explicit string) (string, error) {
	if explicit != "" {
		return explicit, usable(explicit)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", BinaryName, err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return findBinary(filepath.Dir(self), exec.LookPath)
}

func findBinary(dir string, lookPath func(string) (string, error)) (string, error) {
	beside := []string{
		filepath.Join(dir, BinaryName),
		filepath.Join(dir, "..", "libexec", BinaryName),
		filepath.Join(dir, "..", "libexec", "hermes", BinaryName),
	}
	for _, path := range beside {
		if usable(path) == nil {
			return path, nil
		}
	}
	if path, err := lookPath(BinaryName); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%s is neither beside %s, nor in ../libexec, nor on PATH: "+
		"build it with 'make build', or name it with --apiserver-binary", BinaryName, filepath.Join(dir, "hermes"))
}

func usable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w: build it with 'make build'", BinaryName, err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s: %s is not an executable file: build it with 'make build'", BinaryName, path)
	}
	return nil
}
