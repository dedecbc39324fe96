package cron

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxNameRunes is how much of what a job runs becomes its name.
const maxNameRunes = 50

// NewJob is what a person, an agent or a declaration says about a job. Schedule is text of the grammar C-120.
type NewJob struct {
	Name, Prompt             string
	Skills                   []string
	Model, Provider, BaseURL string
	ReasoningEffort          string
	Script                   string
	NoAgent                  bool
	MonitorScript            string
	MonitorURL               string
	ContextFrom              []string
	Schedule                 string
	// Zone is the IANA zone of the schedule, empty for the profile's.
	Zone string
	// Repeat is text of [ParseRepeat]; nil takes the default of the schedule's kind.
	Repeat                  *string
	Paused                  bool
	PausedReason            string
	Deliver, FailureDeliver Deliver
	Origin                  *Origin
	AttachToSession         *bool
	EnabledToolsets         []string
	Workdir                 string
}

// newJobID returns 12 hexadecimal digits.
func newJobID() string {
	var raw [6]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

// build makes the record of a new job.
//
// Implements C-108.
func build(n NewJob, now time.Time, profile *time.Location) (Job, error) {
	if err := checkContent(n); err != nil {
		return Job{}, err
	}
	if n.PausedReason != "" && !n.Paused {
		return Job{}, errors.New("a reason for pausing needs the job to be paused")
	}
	schedule, err := readSchedule(n.Schedule, n.Zone, now, profile)
	if err != nil {
		return Job{}, err
	}
	repeat, err := repeatFor(schedule, n.Repeat)
	if err != nil {
		return Job{}, err
	}
	job := Job{
		ID: newJobID(), Name: strings.TrimSpace(n.Name), Prompt: n.Prompt, Skills: cleaned(n.Skills),
		Model: n.Model, Provider: n.Provider, BaseURL: n.BaseURL, ReasoningEffort: n.ReasoningEffort,
		Script: n.Script, NoAgent: n.NoAgent, MonitorScript: n.MonitorScript, MonitorURL: n.MonitorURL,
		ContextFrom: n.ContextFrom, Schedule: schedule, ScheduleDisplay: schedule.Display,
		Repeat: Repeat{Times: repeat}, Enabled: true, State: StateScheduled, CreatedAt: At(now.In(orUTC(profile))),
		Deliver: n.Deliver, FailureDeliver: n.FailureDeliver, Origin: n.Origin, AttachToSession: n.AttachToSession,
		EnabledToolsets: n.EnabledToolsets, Workdir: n.Workdir,
	}
	if len(job.Skills) > 0 {
		job.Skill = job.Skills[0]
	}
	if job.Name == "" {
		job.Name = defaultName(job)
	}
	if job.Deliver == "" {
		job.Deliver = "local"
		if n.Origin != nil {
			job.Deliver = "origin"
		}
	}
	if n.Paused {
		job.Enabled, job.State = false, StatePaused
		job.PausedAt, job.PausedReason = At(now), n.PausedReason
		return job, nil
	}
	job.NextRunAt, err = firstRun(schedule, now, profile)
	return job, err
}

// firstRun is the first slot of a new or rewritten schedule. A one-shot may be a little in the past, so that "now" does
// not depend on how long the request took.
func firstRun(s Schedule, now time.Time, profile *time.Location) (Instant, error) {
	if s.Kind == Once {
		at := s.RunAt.Localised(s.In(profile))
		if now.Sub(at.Time) > onceGrace {
			return Instant{}, fmt.Errorf("%s is %s in the past: name a time to come", at.Format(isoLayout), now.Sub(at.Time).Round(time.Second))
		}
		return at, nil
	}
	next, ok := s.Next(now, time.Time{}, profile)
	if !ok {
		return Instant{}, fmt.Errorf("schedule %q has no next run", s.Display)
	}
	return At(next), nil
}

func readSchedule(text, zone string, now time.Time, profile *time.Location) (Schedule, error) {
	in := profile
	if zone != "" {
		own, err := LoadZone(zone)
		if err != nil {
			return Schedule{}, err
		}
		in = own
	}
	s, err := ParseSchedule(text, now, in)
	s.Zone = zone
	return s, err
}

// repeatFor returns how often a schedule runs: as asked, else once for a one-shot and for ever otherwise.
func repeatFor(s Schedule, asked *string) (*int, error) {
	if asked != nil {
		return ParseRepeat(*asked)
	}
	if s.Kind == Once {
		one := 1
		return &one, nil
	}
	return nil, nil
}

// stopsGateway recognises a prompt that would end the process that runs it.
var stopsGateway = regexp.MustCompile(`(?i)\bhermes\s+(?:--?\S+\s+(?:\S+\s+)?)?(?:gateway\s+(?:restart|stop)|down)\b|\bsystemctl\s+(?:--user\s+)?(?:restart|stop)\s+hermes`)

func checkContent(n NewJob) error {
	skills := cleaned(n.Skills)
	switch {
	case strings.TrimSpace(n.Prompt) == "" && n.Script == "" && len(skills) == 0:
		return errors.New("the job has nothing to run: give it a prompt, a script or a skill")
	case n.NoAgent && n.Script == "":
		return errors.New("a job without an agent needs a script")
	case n.MonitorScript != "" && n.MonitorURL != "":
		return errors.New("a job watches either a script or a URL: give one of them")
	case n.NoAgent && (n.MonitorScript != "" || n.MonitorURL != ""):
		return errors.New("a job without an agent cannot watch a script or a URL: nothing would read what changed")
	case stopsGateway.MatchString(n.Prompt):
		return errors.New("the prompt would stop the gateway that runs it: run that command yourself")
	}
	if n.Workdir != "" {
		if !filepath.IsAbs(n.Workdir) {
			return fmt.Errorf("working directory %q is not absolute", n.Workdir)
		}
		if info, err := os.Stat(n.Workdir); err != nil || !info.IsDir() {
			return fmt.Errorf("working directory %q is not a directory", n.Workdir)
		}
	}
	for _, text := range []Deliver{n.Deliver, n.FailureDeliver} {
		if _, err := ParseDeliver(text); err != nil {
			return err
		}
	}
	return nil
}

func cleaned(names []string) []string {
	out := []string{}
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func defaultName(j Job) string {
	name := strings.Join(strings.Fields(j.Prompt), " ")
	if name == "" {
		name = j.Skill
	}
	if name == "" {
		name = filepath.Base(j.Script)
	}
	if runes := []rune(name); len(runes) > maxNameRunes {
		name = string(runes[:maxNameRunes])
	}
	return name
}

// Create adds a job.
func (s *Store) Create(ctx context.Context, n NewJob) (Job, error) {
	var job Job
	err := s.update(ctx, func(t *tx) error {
		var err error
		if job, err = build(n, s.now(), s.settings().Zone); err != nil {
			return err
		}
		t.put(job)
		return nil
	})
	return job, err
}
