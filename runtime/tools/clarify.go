package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Clarification is a question the agent asks its person, with the answers it offers. Whoever asks writes the answer
// into it before returning DecisionOnce.
type Clarification struct {
	Question string
	// Options to choose from; the person may say something else all the same. None means that only text answers.
	Options []string
	// Answer is what the person chose or wrote.
	Answer string
}

const maxOptions = 8

type clarifyArgs struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

func (s *Set) clarifyTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "clarify",
			Description: "Ask the person a question and wait for the answer. Use it when going on would be guessing at what they want.",
			Parameters: object(map[string]any{
				"question": map[string]any{"type": "string", "minLength": 1, "maxLength": 1500, "description": "The question."},
				"options": map[string]any{"type": "array", "maxItems": maxOptions, "description": "Answers to choose from; they may say something else.",
					"items": map[string]any{"type": "string", "minLength": 1, "maxLength": 75}},
			}, "question"),
		},
		Toolset:     toolsetClarify,
		Interactive: true,
		Plan:        func(Call) (Plan, error) { return Plan{Summary: "ask the person", ReadOnly: true}, nil },
		Handler:     s.clarify,
	}
}

func (s *Set) clarify(ctx context.Context, c Call) (Result, error) {
	a, err := decode[clarifyArgs](c)
	if err != nil {
		return Result{}, err
	}
	if c.ask == nil {
		return Result{}, errors.New("nobody is present in this session to answer: decide yourself what is safest, say what you assumed, or end with the question as your reply")
	}
	q := &Clarification{Question: a.Question, Options: a.Options}
	d, err := c.ask(ctx, ApprovalRequest{SessionID: c.session, CallID: c.ID, Tool: c.Name, Summary: oneLine(a.Question), Reason: "a question", Question: q})
	switch {
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		return Result{}, errors.New("nobody answered in time: decide yourself what is safest and say what you assumed, or end with the question as your reply")
	case ctx.Err() != nil:
		return Result{}, errors.New("interrupted: the turn was stopped before the question was answered")
	case err != nil:
		return Result{}, fmt.Errorf("the question could not be asked (%w): decide yourself what is safest, or end with the question as your reply", err)
	case d == DecisionDeny:
		return Result{}, errors.New("the person does not want to answer this; go on without, or end with what you have")
	case strings.TrimSpace(q.Answer) == "":
		return Result{}, errors.New("the person's client cannot show questions: end with the question as your reply")
	}
	return Result{Content: "The person answers: " + s.bounded(q.Answer)}, nil
}
