package tools

import (
	"context"
	"errors"
	"slices"
)

const toolsetDelegation = "delegation"

// Approve asks the person of the call's session; nil when nobody can be asked.
func (c Call) Approve() ApproveFunc { return c.ask }

// delegateTool hands work to child agents. Running them is not the business of this package: Config.Delegate does. What
// a child calls is approved call by call, so that handing work over needs no approval of its own.
func (s *Set) delegateTool() Tool {
	toolsets := map[string]any{
		"type": "array", "items": map[string]any{"type": "string", "minLength": 1},
		"description": "Toolsets the child may use, out of yours. Default: yours, except delegation and asking the person.",
	}
	task := map[string]any{
		"goal":     text("What the child is to achieve and to report. It knows nothing of this conversation."),
		"context":  text("What the child needs to know: paths, facts, constraints, what is done already."),
		"toolsets": toolsets,
	}
	return Tool{
		Definition: Definition{
			Name: "delegate_task",
			Description: "Hand one task, or several at the same time, to child agents with conversations of their own. A child sees only its goal and " +
				"context, and reports a summary. Use it for work that is independent of the rest or would fill this conversation with details.",
			Parameters: object(map[string]any{
				"goal": task["goal"], "context": task["context"], "toolsets": toolsets,
				"tasks": map[string]any{
					"type": "array", "minItems": 1, "items": object(task, "goal"),
					"description": "Several tasks for several children, instead of goal. The context and toolsets beside it are for those without their own.",
				},
				"async": map[string]any{
					"type":        "boolean",
					"description": "true: do not wait; the results come later, as a message of their own. Default false: wait for them.",
				},
			}),
		},
		Toolset:   toolsetDelegation,
		Available: func() bool { return s.config.Delegate != nil },
		Missing:   "there is nothing to run child agents with",
		Plan:      func(Call) (Plan, error) { return Plan{Summary: "delegate a task", Unasked: true}, nil },
		Handler: func(ctx context.Context, c Call) (Result, error) {
			if s.config.Delegate == nil {
				return Result{}, errors.New("there is nothing to run child agents with")
			}
			return s.config.Delegate(ctx, c)
		},
	}
}

// ForChild names the tools that a child agent gets: those on offer, narrowed to the toolsets when there are any, without
// those that wait for a person and without delegation. An unknown toolset is an error.
func (s *Set) ForChild(toolsets []string) ([]string, error) {
	narrowed, err := selectToolsets(toolsets, nil, s.config.CustomToolsets)
	if err != nil {
		return nil, err
	}
	entries := s.registry.selected(func(e *entry) bool {
		return e.Toolset != toolsetDelegation && !e.Interactive && s.offered(e) &&
			(len(toolsets) == 0 || narrowed.enabled(e.Toolset, e.Name))
	})
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return slices.Clip(names), nil
}
