package statusfeed

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/host"
)

// startTolerance is how far the recorded start of a gateway and the kernel's may be apart.
const startTolerance = 10 * time.Second

// Residents measures the resident memory, in bytes, of the gateways that run on this machine, by
// namespace/name. A pid that another process has by now is left out: the start must be the recorded one.
func Residents(gateways []v1alpha1.Gateway) map[string]int64 {
	out := map[string]int64{}
	for i := range gateways {
		g := &gateways[i]
		instance := g.Status.Instance
		if instance == nil || instance.PID < 1 || instance.StartedAt == nil {
			continue
		}
		seen := host.Observe(int(instance.PID))
		started := time.Unix(int64(seen.CreateTime), 0)
		if seen.State != host.Alive || started.Sub(instance.StartedAt.Time).Abs() > startTolerance {
			continue
		}
		if bytes, ok := resident(int(instance.PID)); ok {
			out[g.Namespace+"/"+g.Name] = bytes
		}
	}
	return out
}

// resident reads a process's resident set from /proc; elsewhere the figure is left out.
func resident(pid int) (int64, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}
