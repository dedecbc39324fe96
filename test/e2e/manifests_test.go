package e2e

import "fmt"

// profileYAML is a Profile on a model at url; extra is more spec, indented by two.
func profileYAML(name, url, extra string) string {
	return fmt.Sprintf(`apiVersion: hermes.dev/v1alpha1
kind: Profile
metadata:
  name: %s
spec:
  model:
    provider: custom
    name: fake-1
    baseURL: %s
%s`, name, url, extra)
}

// keyedYAML is profileYAML with a key from a Secret.
func keyedYAML(name, url, secret, key, extra string) string {
	return profileYAML(name, url, fmt.Sprintf("    credentials:\n    - secretKeyRef: {name: %s, key: %s}\n%s", secret, key, extra))
}

// demoYAML is a Profile on the built-in demo.
func demoYAML(name, extra string) string {
	return fmt.Sprintf(`apiVersion: hermes.dev/v1alpha1
kind: Profile
metadata:
  name: %s
spec:
  model: {provider: demo}
%s`, name, extra)
}

// gatewayYAML is a Gateway; extra is its spec, indented by two.
func gatewayYAML(name, extra string) string {
	return fmt.Sprintf(`apiVersion: hermes.dev/v1alpha1
kind: Gateway
metadata:
  name: %s
spec:
  engine: Process
%s`, name, extra)
}
