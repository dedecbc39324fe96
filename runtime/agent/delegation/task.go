package delegation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxTasks bounds a batch.
	MaxTasks = 16
	// maxText bounds a goal and a context, in bytes.
	maxText = 64 << 10
)

// Task is what one child is asked.
type Task struct {
	Goal    string `json:"goal"`
	Context string `json:"context,omitempty"`
	// Toolsets narrow the tools of the child; empty leaves it those of its parent.
	Toolsets []string `json:"toolsets,omitempty"`
}

// Request is one call of delegate_task.
type Request struct {
	Tasks []Task
	// Async does not wait for the result.
	Async bool
}

type arguments struct {
	Task
	Tasks []Task `json:"tasks"`
	Async bool   `json:"async"`
}

// Parse reads the arguments of a call. An error says which of them to change and is meant for the model.
func Parse(raw json.RawMessage) (Request, error) {
	var a arguments
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return Request{}, fmt.Errorf("invalid arguments for delegate_task: %w", err)
	}
	switch {
	case len(a.Tasks) > 0 && a.Goal != "":
		return Request{}, errors.New("give delegate_task either goal or tasks, not both")
	case len(a.Tasks) > MaxTasks:
		return Request{}, fmt.Errorf("tasks has %d entries and may have %d", len(a.Tasks), MaxTasks)
	case len(a.Tasks) == 0:
		a.Tasks = []Task{a.Task}
	}
	for i := range a.Tasks {
		t := &a.Tasks[i]
		if t.Context == "" {
			t.Context = a.Context
		}
		if len(t.Toolsets) == 0 {
			t.Toolsets = a.Toolsets
		}
		if strings.TrimSpace(t.Goal) == "" {
			return Request{}, fmt.Errorf("task %d has no goal: say what its child is to achieve", i+1)
		}
		if len(t.Goal) > maxText || len(t.Context) > maxText {
			return Request{}, fmt.Errorf("task %d is too long: goal and context may have %d bytes each; write long material to a file and name it", i+1, maxText)
		}
	}
	return Request{Tasks: a.Tasks, Async: a.Async}, nil
}

// Say is the message that a child's session begins with.
func (t Task) Say() string {
	if t.Context == "" {
		return t.Goal
	}
	return t.Goal + "\n\n# Context\n\n" + t.Context
}

// ChildPrompt is the system prompt of a child that works in a directory.
func ChildPrompt(workspace, date string) string {
	return "You are a child agent. Another agent has given you one task: do it with your tools, and nothing beyond it. " +
		"You talk to that agent, not to a person: ask nothing, and decide what is open yourself. Your last message is all it " +
		"sees. Report in it what you did, what you found, which files you changed, and what is left or doubtful. Be honest " +
		"about what did not work.\n\nYour working directory is " + workspace + ". The session began on " + date + "."
}
