package homeimport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// jobs makes a Schedule of each cron job that still has something to run.
func (c *converter) jobs() {
	taken := map[string]bool{}
	for _, j := range c.home.Jobs {
		what := cmp.Or(j.Name, j.ID)
		s, err := c.schedule(j, taken)
		if err != nil {
			c.out.note("cron job %q is not taken over: %v", what, err)
			continue
		}
		for _, lost := range j.lost() {
			c.out.note("cron job %q: %s cannot be said in a Schedule and was left out", what, lost)
		}
		c.out.Schedules = append(c.out.Schedules, s)
	}
	switch {
	case len(c.out.Schedules) == 0:
	case !c.opts.SchedulesRun:
		c.out.note("this version of hermes stores Schedules and does not run them yet: keep the Python agent's cron for these jobs")
	default:
		c.out.note("stop the Python agent's own cron before you apply the Schedules: else each job runs twice")
	}
}

func (c *converter) schedule(j Job, taken map[string]bool) (*v1alpha1.Schedule, error) {
	switch {
	case j.over():
		return nil, fmt.Errorf("it is finished")
	case j.NoAgent:
		return nil, fmt.Errorf("it runs a script without the agent, which a Schedule cannot")
	case j.Script != "" || j.MonitorScript != "":
		return nil, fmt.Errorf("its prompt is about the output of a script, which a Schedule cannot run: write a prompt that runs it, and make the Schedule by hand")
	case strings.TrimSpace(j.Prompt) == "":
		return nil, fmt.Errorf("it has no prompt")
	case len(j.Prompt) > 65536:
		return nil, fmt.Errorf("its prompt is longer than 65536 bytes")
	}
	when, err := j.schedule()
	if err != nil {
		return nil, err
	}
	s := &v1alpha1.Schedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Schedule"},
		ObjectMeta: c.meta(objectName(c.opts.Name, cmp.Or(j.Name, j.ID), taken)),
	}
	s.Spec = v1alpha1.ScheduleSpec{
		ProfileRef: v1alpha1.ProfileRef{Name: c.opts.Name}, Schedule: when, Prompt: j.Prompt, Skills: j.Skills,
		Deliver: j.deliver(), Suspend: j.paused(), Model: j.Model,
	}
	if j.Skill != "" && !slices.Contains(s.Spec.Skills, j.Skill) {
		s.Spec.Skills = append([]string{j.Skill}, s.Spec.Skills...)
	}
	if i := slices.Index(s.Spec.Deliver, "origin"); i >= 0 {
		s.Spec.Deliver = slices.Delete(s.Spec.Deliver, i, i+1)
		c.out.note("cron job %q was delivered to the chat it came from: name that chat in spec.deliver", cmp.Or(j.Name, j.ID))
	}
	if j.Repeat.Times != nil && !strings.Contains(string(j.Schedule), `"once"`) {
		left := int32(min(max(*j.Repeat.Times-j.Repeat.Completed, 1), 1_000_000)) // in range
		s.Spec.Repeat = &left
	}
	return s, nil
}

// objectName is a free name of an object for a job: what people called it, folded to what names may be.
func objectName(profile, name string, taken map[string]bool) string {
	folded := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, name)
	for strings.Contains(folded, "--") {
		folded = strings.ReplaceAll(folded, "--", "-")
	}
	base := strings.Trim(profile+"-"+strings.Trim(folded, "-"), "-")
	if len(base) > 50 {
		base = strings.TrimRight(base[:50], "-")
	}
	candidate := base
	for n := 2; taken[candidate]; n++ {
		candidate = fmt.Sprintf("%s-%d", base, n)
	}
	taken[candidate] = true
	return candidate
}
