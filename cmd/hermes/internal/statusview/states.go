package statusview

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// sep stands between facts; Render replaces it where the terminal has no such character.
const sep = " · "

func facts(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

func gatewayState(g *v1alpha1.Gateway, s Snapshot, now time.Time) string {
	served, instance := "", ""
	if reported := g.Status.ServedProfiles; reported != nil {
		n := max(int(*reported), servedBy(g, s))
		served = fmt.Sprintf("serving %d profiles", n)
		if n == 1 {
			served = "serving 1 profile"
		}
	}
	if i := g.Status.Instance; i != nil {
		switch {
		case i.PID != 0:
			instance = fmt.Sprintf("pid %d", i.PID)
		case i.Pod != "":
			instance = "pod " + i.Pod
		}
		instance = facts(instance, short(i.Revision))
	}
	memory := ""
	if bytes := s.GatewayResidents[g.Namespace+"/"+g.Name]; bytes > 0 {
		memory = fmt.Sprintf("%d MB", bytes>>20)
	}
	restarts := ""
	if n := g.Status.Restarts; n > 0 {
		restarts = fmt.Sprintf("%d restarts", n)
	}
	outdated := ""
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionCurrent); c != nil && c.Status == metav1.ConditionFalse {
		outdated = "runs older code"
	}
	return facts(served, instance, memory, restarts, outdated)
}

// servedBy counts the profiles that say the gateway serves them. While many begin to be served, the gateway's own
// count is up to two seconds behind them, and a table that contradicts itself is not believed.
func servedBy(g *v1alpha1.Gateway, s Snapshot) int {
	n := 0
	for i := range s.Profiles {
		p := &s.Profiles[i]
		if p.Namespace == g.Namespace && p.Spec.GatewayRef.Name == g.Name && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionServed) {
			n++
		}
	}
	return n
}

func short(revision string) string {
	if len(revision) > 7 && !strings.ContainsAny(revision, ".-") {
		return revision[:7]
	}
	return revision
}

func profileState(p *v1alpha1.Profile, s Snapshot, now time.Time) string {
	activity := "no turn yet"
	switch {
	case p.Status.Store == nil:
		activity = ""
	case p.Status.Store.LastActivity != nil:
		activity = "last turn " + ago(p.Status.Store.LastActivity.Time, now)
	}
	tick := ""
	if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionCronTickOwned); c != nil {
		tick = "cron tick not owned"
		if c.Status == metav1.ConditionTrue {
			tick = "cron tick owned"
		}
	}
	next := ""
	if p.Status.CronTick != nil && p.Status.CronTick.NextRun != nil {
		at := p.Status.CronTick.NextRun.Time
		next = "next " + at.In(now.Location()).Format(clockFormat(at, now))
		if name := scheduleAt(s, p, at); name != "" {
			next += fmt.Sprintf(" %q", name)
		}
	}
	return facts(backupFailed(p), standsIn(p), activity, tick, next)
}

// backupFailed says why a profile has not the copies that it declares; "" when it has, and while the first is being made.
func backupFailed(p *v1alpha1.Profile) string {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionBackedUp)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason == v1alpha1.ReasonBackupPending {
		return ""
	}
	return strings.TrimSuffix("backup failed: "+c.Message, ": ")
}

// standsIn is what a gateway says of a profile that it serves, beyond that it does: why a fallback answers.
func standsIn(p *v1alpha1.Profile) string {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionServed)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	more := strings.TrimPrefix(c.Message, v1alpha1.MessageServed)
	if p.Status.Gateway != nil {
		more = strings.TrimPrefix(more, " in "+p.Status.Gateway.Home)
	}
	return strings.TrimLeft(more, " ;,:·")
}

// scheduleAt names the Schedule of a profile that is due at a time.
func scheduleAt(s Snapshot, p *v1alpha1.Profile, at time.Time) string {
	for i := range s.Schedules {
		sched := &s.Schedules[i]
		if sched.Namespace == p.Namespace && sched.Spec.ProfileRef.Name == p.Name &&
			sched.Status.NextRun != nil && sched.Status.NextRun.Time.Equal(at) {
			return sched.Name
		}
	}
	return ""
}

func relayState(r *v1alpha1.RelayIdentity, now time.Time) string {
	connected := ""
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionConnected); c != nil && c.Status == metav1.ConditionTrue {
		connected = "connected for " + age(c.LastTransitionTime.Time, now)
	}
	identity := r.Spec.BotUsername
	if identity == "" {
		identity = r.Spec.BotID
	}
	return facts(connected, r.Spec.Platform+" "+identity, "answers as "+r.Spec.ProfileRef.Name)
}

func consentState(m *v1alpha1.MetricsConsent) string {
	what := "neither collecting nor sending"
	switch {
	case m.Spec.Collect && m.Spec.Send:
		what = "collecting and sending"
	case m.Spec.Collect:
		what = "collecting, not sending"
	}
	window := ""
	if w := m.Status.Window; w != nil {
		switch {
		case w.ClosedAt != nil:
			window = "window closed " + w.ClosedAt.Format(time.DateOnly)
		case w.OpenedAt != nil:
			window = "window open since " + w.OpenedAt.Format(time.DateOnly)
		}
	}
	queue := ""
	if m.Status.Pending > 0 {
		queue = fmt.Sprintf("%d waiting", m.Status.Pending)
	}
	return facts(what, window, queue)
}

func scheduleState(s *v1alpha1.Schedule, now time.Time) string {
	active, next, last := "", "", ""
	if s.Status.Active {
		active = "running now"
	}
	if s.Status.NextRun != nil {
		at := s.Status.NextRun.Time
		next = "next " + at.In(now.Location()).Format(clockFormat(at, now))
	}
	if r := s.Status.LastRun; r != nil {
		last = strings.ToLower(r.Outcome) + " " + ago(r.At.Time, now)
		if r.Lateness != nil && r.Lateness.Duration >= time.Minute {
			last += fmt.Sprintf(", %s late", span(r.Lateness.Duration))
		}
	}
	return facts(active, next, last, "profile "+s.Spec.ProfileRef.Name)
}

// clockFormat shows the time alone when it is less than a day away.
func clockFormat(at, now time.Time) string {
	if at.Sub(now) < 24*time.Hour {
		return "15:04"
	}
	return "2006-01-02 15:04"
}

func ago(t, now time.Time) string { return age(t, now) + " ago" }

func age(t, now time.Time) string { return span(now.Sub(t)) }

// span is a duration with at most two units: 12s, 4m, 3h12m, 2d4h, 12d. A negative one, from clocks that
// disagree, is 0s.
func span(d time.Duration) string {
	hours, minutes := int(d/time.Hour), int(d/time.Minute)%60
	days := hours / 24
	switch {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", minutes)
	case days == 0 && minutes == 0:
		return fmt.Sprintf("%dh", hours)
	case days == 0:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	case days < 10 && hours%24 != 0:
		return fmt.Sprintf("%dd%dh", days, hours%24)
	}
	return fmt.Sprintf("%dd", days)
}
