package controlplane

import (
	"bytes"
	"os/exec"
	"testing"
)

// Kubectl runs the real kubectl (bin/kubectl, or $HERMES_KUBECTL) and returns its standard output. A
// non-zero exit fails the test with what it printed.
func Kubectl(t testing.TB, kubeconfig string, args ...string) string {
	t.Helper()
	out, stderr, err := TryKubectl(t, kubeconfig, args...)
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s%s", args, err, out, stderr)
	}
	return out
}

// TryKubectl is Kubectl for commands that may fail.
func TryKubectl(t testing.TB, kubeconfig string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return KubectlInput(t, kubeconfig, "", args...)
}

// KubectlInput is TryKubectl with something on standard input, for `apply -f -`.
func KubectlInput(t testing.TB, kubeconfig, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	path, err := built("HERMES_KUBECTL", "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	// The discovery cache belongs to the test, not to the home directory of whoever runs it.
	args = append([]string{"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()}, args...)
	cmd := exec.CommandContext(t.Context(), path, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(input), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}
