package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 3600 * time.Second
)

type terminalArgs struct {
	Command        string `json:"command"`
	TimeoutSeconds int    `json:"timeout_seconds"`
	Background     bool   `json:"background"`
}

func (a terminalArgs) timeout() time.Duration {
	if a.TimeoutSeconds == 0 {
		return defaultTimeout
	}
	return min(time.Duration(a.TimeoutSeconds)*time.Second, maxTimeout)
}

func (s *Set) terminalTool() Tool {
	return Tool{
		Definition: Definition{
			Name: toolsetTerminal,
			Description: "Run a command with sh -c in the workspace. Standard output and standard error come back together, " +
				"with the exit code. There is no terminal and no input. Processes left in the background are ended when the command returns; " +
				"background starts one that goes on, for process_manage to look after.",
			Parameters: object(map[string]any{
				"command":         text("The shell command."),
				"timeout_seconds": integer(fmt.Sprintf("Seconds until the command and everything it started is ended. Default %d.", int(defaultTimeout.Seconds())), 1, int(maxTimeout.Seconds())),
				"background":      boolean("Return at once and let the command go on until it ends or is ended."),
			}, "command"),
		},
		Toolset:  toolsetTerminal,
		Approval: ApprovalPerCommand,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[terminalArgs](c)
			if err == nil && strings.ContainsRune(a.Command, 0) {
				err = errors.New("the command contains a NUL byte")
			}
			how := "run: "
			if a.Background {
				how = "run in the background: "
			}
			return Plan{Summary: how + oneLine(a.Command), Command: a.Command}, err
		},
		Handler: s.terminal,
	}
}

func (s *Set) terminal(ctx context.Context, c Call) (Result, error) {
	a, err := decode[terminalArgs](c)
	if err != nil {
		return Result{}, err
	}
	if a.Background {
		return s.startBackground(c, a)
	}
	callID := rand.Text()
	out := newOutput(s.outputLimit(), func() (*os.File, error) { return s.createSpill(callID) })
	end, err := runCommand(ctx, s.config.Clock, command{
		line:    a.Command,
		dir:     s.config.Workspace,
		environ: buildEnviron(s.config, s.sandbox.commandHome, callID),
		marker:  callMarker + "=" + callID,
		orphans: s.config.Orphans,
		timeout: a.timeout(),
		out:     out,
	})
	if closeErr := out.close(); closeErr != nil {
		s.config.Log.Error(closeErr, "complete output of a command could not be kept")
	}
	if err != nil {
		return Result{}, err
	}
	if end.survivors > 0 {
		s.config.Log.Info("processes of a command could not be ended", "count", end.survivors)
	}
	return end.result(out.render(), a.timeout()), nil
}

// result words how a command ended. Only an end that was forced is an error of
// the tool; a non-zero exit code is an answer.
func (e ending) result(output string, timeout time.Duration) Result {
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	r := Result{}
	switch {
	case e.timedOut:
		r = Result{Content: fmt.Sprintf("[timed out after %s; the command and everything it started was ended]", timeout), IsError: true}
	case e.cancelled:
		r = Result{Content: "[cancelled; the command and everything it started was ended]", IsError: true}
	case e.signal != "":
		r.Content = "[ended by signal: " + e.signal + "]"
	default:
		r.Content = fmt.Sprintf("[exit code %d]", e.exitCode)
	}
	if e.leftovers > 0 {
		r.Content += fmt.Sprintf("\n[%d background processes were ended]", e.leftovers)
	}
	r.Content = output + r.Content
	return r
}
