package cronview

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"hermes.dev/hermes/runtime/localapi"
)

// staleAfter is the age from which a heartbeat says only when scheduling last worked.
const staleAfter = 200 * time.Second

// Place is who serves the profile.
type Place struct {
	Profile string
	// Served says that a gateway does, Gateway which one, empty when it is not known.
	Served  bool
	Gateway string
}

// Finding is what is wrong, with what to do about it.
type Finding struct {
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// restart is the command that starts the gateway of a profile anew.
func (p Place) restart() string {
	if p.Gateway == "" {
		return "restart the gateway that serves the profile"
	}
	return "hermes gateway restart " + p.Gateway
}

// Status says how a profile's scheduled work is, and whether that is good.
//
// Implements the order of C-200, C-201 and C-202.
func Status(s localapi.CronStatus, p Place, now time.Time) (text string, ok bool) {
	var out strings.Builder
	findings := ticking(s, p, now)
	switch {
	case s.Jobs == 0 && s.Verdict != "Failing":
		fmt.Fprintf(&out, "profile %s has no scheduled jobs\n", p.Profile)
		return out.String(), true
	case len(findings) == 0:
		fmt.Fprintf(&out, "✓ %s\n", s.Message)
	}
	for _, f := range findings {
		writeFinding(&out, f)
	}
	fmt.Fprintf(&out, "%d jobs, %d active, %d running", s.Jobs, s.Active, len(s.Running))
	if s.Overdue > 0 {
		fmt.Fprintf(&out, ", %d OVERDUE", s.Overdue)
	}
	out.WriteByte('\n')
	if s.Next != nil {
		fmt.Fprintf(&out, "next: %q %s (%s)\n", s.Next.Name, Next(*s.Next, now), s.Next.NextRun.Local().Format("2006-01-02 15:04 MST"))
	}
	return out.String(), len(findings) == 0 && s.Overdue == 0
}

func writeFinding(out *strings.Builder, f Finding) {
	fmt.Fprintf(out, "✗ %s\n", f.Text)
	if f.Remedy != "" {
		fmt.Fprintf(out, "  → %s\n", f.Remedy)
	}
}

// ticking says what keeps the jobs from being run; nothing while no job is active.
func ticking(s localapi.CronStatus, p Place, now time.Time) []Finding {
	switch {
	case s.Verdict == "Failing":
		return []Finding{{s.Message, p.restart()}}
	case s.Active == 0:
		return nil
	case !p.Served:
		text := fmt.Sprintf("no gateway serves profile %s: its jobs do not run", p.Profile)
		if age := now.Sub(s.Heartbeat); !s.Heartbeat.IsZero() && age > staleAfter {
			text += fmt.Sprintf("; scheduling last worked %s ago", duration.HumanDuration(age))
		}
		return []Finding{{text, "hermes up serves it, or hermes cron tick runs what is due now"}}
	case s.Verdict != "Healthy":
		return []Finding{{s.Message, p.restart()}}
	}
	return nil
}

// Diagnose lists what is wrong with the ticker and the jobs.
//
// Implements the findings of C-205's doctor.
func Diagnose(s localapi.CronStatus, jobs []localapi.Job, p Place, now time.Time) []Finding {
	findings := ticking(s, p, now)
	for _, j := range jobs {
		if j.OverdueSeconds > 0 {
			findings = append(findings, Finding{fmt.Sprintf("job %q is %s", j.Name, Next(j, now)), "hermes cron run " + j.ID})
		}
		remedy := "hermes cron edit " + j.ID
		if j.DeclaredBy != "" {
			remedy = "change it where it is declared: " + j.DeclaredBy
		}
		for _, note := range notes(j) {
			if j.PausedReason != "" && strings.HasPrefix(note, "paused: ") {
				continue // somebody wanted that
			}
			findings = append(findings, Finding{fmt.Sprintf("job %q %s", j.Name, note), remedy})
		}
	}
	return findings
}

// Findings renders them, or says that there are none.
func Findings(list []Finding) string {
	var out strings.Builder
	for _, f := range list {
		writeFinding(&out, f)
	}
	if len(list) == 0 {
		out.WriteString("✓ nothing is wrong with the scheduled jobs\n")
	}
	return out.String()
}
