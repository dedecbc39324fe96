//go:build faults

package tools

import "context"

// faultTools is a tool with a bug, for suites that hold a real gateway to its isolation. The build tag keeps it out of
// every other binary.
func faultTools() []Tool {
	return []Tool{{
		Definition: Definition{Name: "fault_panic", Description: "Panics.", Parameters: object(nil)},
		Toolset:    toolsetTerminal,
		Plan:       func(Call) (Plan, error) { return Plan{Summary: "panic", ReadOnly: true}, nil },
		Handler:    func(context.Context, Call) (Result, error) { panic("the tool fault_panic has a bug") },
	}}
}
