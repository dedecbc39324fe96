package gateway

import (
	"errors"
	"fmt"
	"strings"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// Exit codes of a gateway process. Implements G-270.
const (
	// ExitTemporary asks the supervisor to try again later.
	ExitTemporary = 75
	// ExitConfiguration says that only a change of configuration can help.
	ExitConfiguration = 78
)

// Refusal is why a gateway does not start.
type Refusal struct {
	// Reason is one of the v1alpha1.Reason constants.
	Reason string
	// Code is the exit code.
	Code int
	// Err says what to change.
	Err error
}

// Error returns what to change.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Line is what the process prints last on stderr, for its supervisor: one line whatever the cause's text.
func (r *Refusal) Line() string {
	return fmt.Sprintf("hermes-refusal: %s: %s", r.Reason, strings.Join(strings.Fields(r.Err.Error()), " "))
}

func refuse(reason string, code int, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Code: code, Err: fmt.Errorf(format, args...)}
}

// lockRefusal says who serves the home root already. Somebody else's gateway may
// end at any time, so it is temporary. Implements G-210 and G-225.
func lockRefusal(root string, res host.HomeClaimResult) *Refusal {
	who := "another process"
	if res.Holder != nil {
		who = fmt.Sprintf("process %d", res.Holder.PID)
	}
	if errors.Is(res.Err, host.ErrPIDFileExists) {
		return refuse(v1alpha1.ReasonHostOwnedElsewhere, ExitTemporary, "%s says in gateway.pid that it serves %s: stop it, or remove the file if it is no gateway", who, root)
	}
	return refuse(v1alpha1.ReasonHostOwnedElsewhere, ExitTemporary, "%s serves %s already: stop it, or use another home", who, root)
}

// checkRoot refuses a root that holds somebody's unmanaged home, unless it may be adopted.
func checkRoot(root string, adopt bool) *Refusal {
	found, err := home.Inspect(root)
	if err != nil {
		return refuse(v1alpha1.ReasonHomeUnwritable, ExitTemporary, "look into %s: %w", root, err)
	}
	if found.Ownership == home.HomeUnmanaged && !adopt {
		return refuse(v1alpha1.ReasonHomeNotOurs, ExitConfiguration,
			"%s holds a home that hermes does not manage (%s): use another spec.home, or set spec.adoptExistingHome (a backup is made first)", root, strings.Join(found.Evidence, ", "))
	}
	return nil
}
