package toolview

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"hermes.dev/hermes/runtime/tools"
)

// Render shows an overview as tables: toolsets, MCP servers, and decisions given for always. Composite toolsets and those without
// tools in this version show with all.
func Render(o tools.Overview, all bool) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOLSET\tSTATE\tTOOLS\tWHY")
	hidden := 0
	for _, t := range o.Toolsets {
		if !all && len(t.Tools) == 0 && t.State != tools.StateOn && !strings.Contains(t.Why, "disabled") {
			hidden++
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, t.State, strings.Join(t.Tools, " "), t.Why)
	}
	w.Flush()
	if hidden > 0 {
		fmt.Fprintf(&out, "%d toolsets have no tools here; --all shows them\n", hidden)
	}
	servers(&out, o.Servers)
	if len(o.Approvals) > 0 {
		fmt.Fprintln(&out)
		w = tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ALLOWED ALWAYS\tTOOL\tSINCE\tWHAT")
		for _, a := range o.Approvals {
			what := a.Subject
			if what == "" {
				what = "every call"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.ID, a.Tool, a.At.Format("2006-01-02"), visible(what))
		}
		w.Flush()
	}
	return trimLines(out.String())
}

// servers shows the MCP servers; what they say of themselves cannot act on a terminal.
func servers(out *strings.Builder, list []tools.ServerInfo) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MCP SERVER\tSTATE\tTOOLS\tNEXT ATTEMPT\tWHY")
	for _, s := range list {
		next := ""
		if !s.NextAttempt.IsZero() {
			next = s.NextAttempt.Local().Format(time.TimeOnly)
		}
		why := append([]string{}, s.Notes...)
		if s.Why != "" {
			why = append([]string{s.Why}, why...)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", visible(s.Name), s.State, s.Tools, next, visible(strings.Join(why, "; ")))
	}
	w.Flush()
}

// RenderOne shows one toolset with its tools, or one tool; ok is false when there is neither.
func RenderOne(o tools.Overview, name string) (text string, ok bool) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, t := range o.Tools {
		if t.Name == name {
			fmt.Fprintf(w, "Tool:\t%s\nToolset:\t%s\nState:\t%s\nApproval:\t%s\n%s\n", t.Name, t.Toolset, state(t.State, t.Why), approval(t.Approval), t.Description)
			w.Flush()
			return out.String(), true
		}
	}
	for _, set := range o.Toolsets {
		if set.Name != name {
			continue
		}
		fmt.Fprintf(w, "Toolset:\t%s\nState:\t%s\n%s\n\nTOOL\tSTATE\tAPPROVAL\tDOES\n", set.Name, state(set.State, set.Why), set.Description)
		for _, t := range o.Tools {
			for _, member := range set.Tools {
				if member == t.Name {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, t.State, approval(t.Approval), t.Description)
				}
			}
		}
		w.Flush()
		return trimLines(out.String()), true
	}
	return "", false
}

func state(s tools.State, why string) string {
	if why == "" {
		return string(s)
	}
	return string(s) + " (" + why + ")"
}

// approval says how often a person is asked in mode Ask.
func approval(covers string) string {
	if covers == tools.ApprovalNone {
		return "not asked"
	}
	return "asked; covers " + covers
}

// visible keeps control characters of a command from acting on a terminal.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '·'
		}
		return r
	}, s)
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
