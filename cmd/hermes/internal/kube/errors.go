package kube

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// Explain turns an error of a request into one that says what to do about it.
func (c *Client) Explain(err error) error {
	var dial *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ECONNREFUSED) && c.Source.Kind == datadir.Local:
		if _, runs := c.Source.Data.Up(); runs {
			return exit.Busyf("%w", &datadir.NotRunningError{Data: c.Source.Data, Starting: true})
		}
		return &datadir.NotRunningError{Data: c.Source.Data, Named: true}
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("the control plane of %s does not answer: %w", c.Source.Kubeconfig, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s does not authenticate you there: get a new one: %w", c.Source.Kubeconfig, err)
	case meta.IsNoMatchError(err), isMissingKind(err):
		return fmt.Errorf("this control plane does not know the kind: install the CRDs (hermes up does): %w", err)
	}
	return err
}

// isMissingKind reports a 404 for the resource itself, not for one object.
func isMissingKind(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonNotFound {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// Messages lists what the server says is wrong with an object, one entry a field, in its own words; nil for
// an error that is not about the object's content.
func Messages(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, cause := range status.Status().Details.Causes {
		if strings.HasPrefix(cause.Message, "some validation rules were not checked") {
			continue // it follows others and tells the reader nothing to do
		}
		line := cause.Message
		// CEL messages come as: Invalid value: "object": what to change
		if _, said, found := strings.Cut(line, ": "); found && strings.HasPrefix(line, "Invalid value: ") {
			if _, after, typed := strings.Cut(said, "\": "); typed {
				said = after
			}
			line = said
		}
		if field := strings.TrimPrefix(cause.Field, "."); field != "" && field != "<nil>" {
			line = field + ": " + line
		}
		if !seen[line] {
			seen[line] = true
			out = append(out, line)
		}
	}
	return out
}
