package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/store"
)

// Stores checks, for all session stores of one home, that nobody but its gateway has them open and that no process
// writes a deleted generation of a log. It lists processes and looks at names; no store is opened.
//
// Implements S-146.
func Stores(home string) Check {
	name := "stores " + filepath.Join(filepath.Base(filepath.Dir(home)), filepath.Base(home))
	return Check{name, func(ctx context.Context) Finding {
		paths := storesOf(home)
		views := make([]storeView, len(paths))
		inventory := store.NewInventory(clock.RealClock{})
		holders, err := store.ScanHoldersOf(ctx, paths...)
		if err != nil {
			return finding(Warning, "", "%v", err)
		}
		for i, path := range paths {
			v := storeView{path: path, holders: holders[path]}
			if v.retired, err = inventory.Retired(path); err != nil {
				return finding(Warning, "", "processes cannot be listed, so nobody knows who has %s open: %v", path, err)
			}
			if v.captures, err = store.Captures(path); err != nil {
				return finding(Warning, "", "%v", err)
			}
			views[i] = v
		}
		return judgeStores(views, gatewayPID(ctx, home))
	}}
}

// gatewayPID is the process that serves a home, 0 when none answers.
func gatewayPID(ctx context.Context, home string) int {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	identity, err := host.NewClient(home).Identify(ctx)
	if err != nil {
		return 0
	}
	return identity.PID
}

// storeView is what was seen of one store.
type storeView struct {
	path             string
	retired, holders []store.Holder
	captures         []string
}

// judgeStores tells the worst that was seen. While a deleted log is in use nothing else is asked of that store.
func judgeStores(views []storeView, gateway int) Finding {
	var worst []Finding
	for _, v := range views {
		if f := v.judge(gateway); f.Level != OK {
			worst = append(worst, f)
		}
	}
	order := []Level{Problem, Warning, Note}
	slices.SortStableFunc(worst, func(a, b Finding) int { return slices.Index(order, a.Level) - slices.Index(order, b.Level) })
	switch len(worst) {
	case 0:
		return ok("%s", quiet(views))
	case 1:
		return worst[0]
	}
	return finding(worst[0].Level, worst[0].Remedy, "%s; and there is something about %d more", worst[0].Message, len(worst)-1)
}

// quiet says who has stores open when there is nothing to say against it.
func quiet(views []storeView) string {
	open := 0
	for _, v := range views {
		if len(v.holders) > 0 {
			open++
		}
	}
	switch {
	case len(views) == 0:
		return "none yet"
	case open == 0:
		return fmt.Sprintf("%d, in use by nobody", len(views))
	}
	return fmt.Sprintf("%d, %d in use by their gateway only", len(views), open)
}

func (v storeView) judge(gateway int) Finding {
	if len(v.retired) > 0 {
		return finding(Problem, store.FirstSteps, "a deleted log of %s is still in use, so writing to it stopped: %s", v.path, names(v.retired))
	}
	foreign := slices.DeleteFunc(slices.Clone(v.holders), func(h store.Holder) bool { return h.PID == gateway })
	known := slices.DeleteFunc(slices.Clone(foreign), func(h store.Holder) bool { return len(h.Files) == 0 })
	switch {
	case len(known) > 0:
		return finding(Warning, "stop it; hermes sessions reads and changes a store through its gateway",
			"%s is open in %s, which is not its gateway", v.path, names(known))
	case len(foreign) > 0:
		return finding(Warning, "", "who has %s open cannot be told: %s", v.path, foreign[0].Uninspectable)
	case len(v.captures) > 0:
		return finding(Note, "see "+store.RecoveryGuide, "a log that a process was cut off from was saved in %s", strings.Join(v.captures, ", "))
	}
	return ok("%s", v.path)
}

// names lists processes as `PID N (command)`.
func names(holders []store.Holder) string {
	list := make([]string, len(holders))
	for i, h := range holders {
		list[i] = h.String()
	}
	return strings.Join(list, ", ")
}

// Homes are the homes of the gateways of a data directory, sorted.
func Homes(gateways string) []string {
	homes, _ := filepath.Glob(filepath.Join(escapeGlob(gateways), "*", "*")) // the pattern is well formed
	return homes
}

// storesOf finds the stores of a home, the home's own first. It only looks at names.
func storesOf(home string) []string {
	stores, _ := filepath.Glob(filepath.Join(escapeGlob(home), "profiles", "*", "state.db")) // the pattern is well formed
	if own := filepath.Join(home, "state.db"); exists(own) {
		stores = append([]string{own}, stores...)
	}
	return stores
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// escapeGlob makes a path match only itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
