package homeimport

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Job is one cron job of jobs.json, as far as it can be taken over or has to be named.
type Job struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Prompt   string          `json:"prompt"`
	Skills   []string        `json:"skills"`
	Skill    string          `json:"skill"`
	Model    string          `json:"model"`
	Provider string          `json:"provider"`
	BaseURL  string          `json:"base_url"`
	Schedule json.RawMessage `json:"schedule"`
	Repeat   struct {
		Times     *int64 `json:"times"`
		Completed int64  `json:"completed"`
	} `json:"repeat"`
	Enabled  *bool           `json:"enabled"`
	State    string          `json:"state"`
	PausedAt json.RawMessage `json:"paused_at"`
	Deliver  json.RawMessage `json:"deliver"`

	Script          string          `json:"script"`
	NoAgent         bool            `json:"no_agent"`
	MonitorScript   string          `json:"monitor_script"`
	MonitorURL      string          `json:"monitor_url"`
	ContextFrom     json.RawMessage `json:"context_from"`
	Workdir         string          `json:"workdir"`
	EnabledToolsets json.RawMessage `json:"enabled_toolsets"`
	ReasoningEffort string          `json:"reasoning_effort"`
	FailureDeliver  json.RawMessage `json:"failure_deliver"`
}

// ParseJobs reads the text of a jobs.json with the tolerance of its own reader: a byte order mark, control characters
// inside strings, a bare list, an object keyed by id. An entry that is no job is a note.
//
// Implements C-102.
func ParseJobs(text string) (jobs []Job, notes []string, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil, nil
	}
	text = strings.TrimPrefix(text, "\ufeff")
	var top any
	if err := json.Unmarshal([]byte(text), &top); err != nil {
		if again := json.Unmarshal([]byte(escapeControls(text)), &top); again != nil {
			return nil, nil, fmt.Errorf("it is not JSON: %w", err)
		}
	}
	entries, err := jobEntries(top)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		var job Job
		raw, err := json.Marshal(e.value)
		if _, object := e.value.(map[string]any); !object {
			err = errors.New("it is not an object")
		}
		if err == nil {
			err = json.Unmarshal(raw, &job)
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("cron job %s was skipped: %v", e.id, err))
			continue
		}
		if job.ID == "" {
			job.ID = e.id
		}
		jobs = append(jobs, job)
	}
	return jobs, notes, nil
}

type jobEntry struct {
	id    string
	value any
}

func jobEntries(top any) ([]jobEntry, error) {
	list, isList := top.([]any)
	object, isObject := top.(map[string]any)
	if isObject {
		if inner, ok := object["jobs"].([]any); ok {
			list, isList = inner, true
		} else if inner, ok := object["jobs"].(map[string]any); ok {
			object = inner
		}
	}
	var out []jobEntry
	switch {
	case isList:
		for i, v := range list {
			out = append(out, jobEntry{id: fmt.Sprintf("number %d", i+1), value: v})
		}
	case isObject:
		for id, v := range object {
			if _, job := v.(map[string]any); job || id != "updated_at" {
				out = append(out, jobEntry{id: id, value: v})
			}
		}
		slices.SortFunc(out, func(a, b jobEntry) int { return cmp.Compare(a.id, b.id) })
	default:
		return nil, errors.New("it holds neither a list nor an object")
	}
	return out, nil
}

// escapeControls writes raw control characters inside strings as JSON wants them.
func escapeControls(text string) string {
	var b strings.Builder
	inside, escaped := false, false
	for _, r := range text {
		if inside && r < ' ' {
			fmt.Fprintf(&b, `\u%04x`, r)
			escaped = false
			continue
		}
		switch {
		case escaped:
			escaped = false
		case r == '\\' && inside:
			escaped = true
		case r == '"':
			inside = !inside
		}
		b.WriteRune(r)
	}
	return b.String()
}

// schedule writes a job's schedule as a Schedule has it. The error says what cannot be expressed.
//
// Implements C-107.
func (j Job) schedule() (string, error) {
	var text string
	if json.Unmarshal(j.Schedule, &text) == nil && text != "" {
		return text, nil // the form that people type
	}
	var s struct {
		Kind    string  `json:"kind"`
		RunAt   string  `json:"run_at"`
		Minutes float64 `json:"minutes"`
		Expr    string  `json:"expr"`
	}
	if err := json.Unmarshal(j.Schedule, &s); err != nil {
		return "", errors.New("it has no schedule")
	}
	switch {
	case s.Kind == "cron" && s.Expr != "":
		return s.Expr, nil
	case s.Kind == "once" && s.RunAt != "":
		return s.RunAt, nil
	case s.Kind == "interval" && s.Minutes >= 1:
		return fmt.Sprintf("every %dm", int64(s.Minutes)), nil
	}
	return "", fmt.Errorf("its schedule %s is of no known form", j.Schedule)
}

// deliver lists where a job's result goes.
func (j Job) deliver() []string {
	var one string
	if json.Unmarshal(j.Deliver, &one) == nil {
		var out []string
		for part := range strings.SplitSeq(one, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
		return out
	}
	var many []string
	_ = json.Unmarshal(j.Deliver, &many) // anything else delivers nowhere
	return many
}

// lost names what a job has and a Schedule cannot say.
func (j Job) lost() []string {
	var out []string
	for name, there := range map[string]bool{
		"script": j.Script != "", "no_agent": j.NoAgent, "monitor_script": j.MonitorScript != "", "monitor_url": j.MonitorURL != "",
		"context_from": present(j.ContextFrom), "workdir": j.Workdir != "", "base_url": j.BaseURL != "", "provider": j.Provider != "",
		"enabled_toolsets": present(j.EnabledToolsets), "reasoning_effort": j.ReasoningEffort != "", "failure_deliver": present(j.FailureDeliver),
	} {
		if there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func present(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "[]", `""`, "{}"}, string(raw))
}

// over reports that a job has nothing left to run.
func (j Job) over() bool {
	return j.State == "completed" || j.Repeat.Times != nil && j.Repeat.Completed >= *j.Repeat.Times
}

// paused reports that a job does not run now.
//
// Implements C-111.
func (j Job) paused() bool {
	return j.Enabled != nil && !*j.Enabled || j.State == "paused" || present(j.PausedAt)
}
