package process

import (
	"strconv"
	"strings"

	"hermes.dev/hermes/controllers/engine"
)

// runIDVariable marks every process of a run's tree.
const runIDVariable = "HERMES_RUN_ID"

// gatewayArgs is the command line of a run, without the binary.
func gatewayArgs(w engine.Workload, kubeconfig, runID, logDir string) []string {
	args := []string{
		"gateway", "run",
		"--home", w.Home,
		"--namespace", w.Namespace,
		"--name", w.Name,
		"--kubeconfig", kubeconfig,
		"--run-id", runID,
		"--drain-timeout", w.DrainTimeout.String(),
		"--log-dir", logDir,
	}
	if w.AdoptExistingHome {
		args = append(args, "--adopt-existing-home")
	}
	return args
}

// gatewayEnv builds the environment of a run. Nothing is inherited: base is
// PATH, HOME, LANG and TZ as the options give them, declared variables come
// after and win, the engine's own come last and always win.
func gatewayEnv(base []string, w engine.Workload, runID string) []string {
	env := newEnviron()
	for _, list := range [][]string{base, w.Env} {
		for _, kv := range list {
			env.set(kv)
		}
	}
	if w.MemoryLimit > 0 {
		env.set("GOMEMLIMIT=" + strconv.FormatInt(softLimit(w.MemoryLimit), 10))
	}
	env.set(runIDVariable + "=" + runID)
	return env.list
}

// softLimit is 90 % of a memory limit in bytes: where the process starts to save memory.
func softLimit(limit int64) int64 { return limit / 10 * 9 }

// environ keeps variables in order of first mention; a later value replaces an earlier one.
type environ struct {
	list []string
	at   map[string]int
}

func newEnviron() *environ { return &environ{at: map[string]int{}} }

func (e *environ) set(kv string) {
	name, _, ok := strings.Cut(kv, "=")
	if !ok || name == "" {
		return
	}
	if i, seen := e.at[name]; seen {
		e.list[i] = kv
		return
	}
	e.at[name] = len(e.list)
	e.list = append(e.list, kv)
}

// flagValue finds the value of `--name value` in a command line.
func flagValue(argv []string, name string) (string, bool) {
	for i := 1; i+1 < len(argv); i++ {
		if argv[i] == name {
			return argv[i+1], true
		}
	}
	return "", false
}

// isGatewayOf reports a command line of `gateway run` for this workload and control plane.
func isGatewayOf(argv []string, ref engine.Ref, kubeconfig string) bool {
	if len(argv) < 3 || argv[1] != "gateway" || argv[2] != "run" {
		return false
	}
	namespace, _ := flagValue(argv, "--namespace")
	name, _ := flagValue(argv, "--name")
	config, _ := flagValue(argv, "--kubeconfig")
	return namespace == ref.Namespace && name == ref.Name && config == kubeconfig
}
