package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	processManage = "process_manage"
	defaultWait   = 30 * time.Second
	maxWait       = 600 * time.Second
	// stdinPatience is how long a process may leave its input unread.
	stdinPatience = 5 * time.Second
	maxInput      = 64 << 10
)

type processArgs struct {
	Action         string `json:"action"`
	ID             string `json:"id"`
	Offset         *int64 `json:"offset"`
	TimeoutSeconds int    `json:"timeout_seconds"`
	Input          string `json:"input"`
	CloseInput     bool   `json:"close_input"`
}

func (s *Set) processTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        processManage,
			Description: "Look after what terminal has started in the background in this session: list, read its output, wait for its end, write to its input, kill.",
			Parameters: object(map[string]any{
				"action":          oneOf("What to do.", "list", "read", "wait", "write", "kill"),
				"id":              text("The process, for every action but list."),
				"offset":          integer("read: the byte to begin at. Default is where the last read ended.", 0, 1<<53),
				"timeout_seconds": integer(fmt.Sprintf("wait: how long at most. Default %d.", int(defaultWait.Seconds())), 1, int(maxWait.Seconds())),
				"input":           map[string]any{"type": "string", "maxLength": maxInput, "description": "write: text for its input; end lines with a newline."},
				"close_input":     boolean("write: end its input afterwards."),
			}, "action"),
		},
		Toolset:  toolsetTerminal,
		Approval: ApprovalPerCommand,
		Plan:     s.planProcess,
		Handler:  s.processManage,
	}
}

// planProcess lets a session look at and end what it has started itself. Input is asked about like a command, because
// a shell that reads it runs it.
func (s *Set) planProcess(c Call) (Plan, error) {
	a, err := decode[processArgs](c)
	if err != nil {
		return Plan{}, err
	}
	if a.Action != "list" && a.ID == "" {
		return Plan{}, fmt.Errorf("action %s needs the id of a process", a.Action)
	}
	if a.Action != "write" || a.Input == "" {
		return Plan{Summary: a.Action + " background process " + oneLine(a.ID), ReadOnly: true}, nil
	}
	m, err := s.processes.find(c.session, a.ID)
	if err != nil {
		return Plan{}, err
	}
	return Plan{
		Summary: fmt.Sprintf("write to %q: %s", oneLine(s.processes.state(m).Command), oneLine(a.Input)),
		Command: a.Input,
		Subject: s.processes.state(m).Command + "\x00" + a.Input,
	}, nil
}

func (s *Set) processManage(ctx context.Context, c Call) (Result, error) {
	a, err := decode[processArgs](c)
	if err != nil {
		return Result{}, err
	}
	if a.Action == "list" {
		return Result{Content: s.bounded(listProcesses(s.processes.List(c.session), s.config.Clock.Now()))}, nil
	}
	m, err := s.processes.find(c.session, a.ID)
	if err != nil {
		return Result{}, err
	}
	switch a.Action {
	case "wait":
		if err := s.waitProcess(ctx, m, a); err != nil {
			return Result{}, err
		}
	case "write":
		return s.writeProcess(m, a)
	case "kill":
		m.kill()
		select {
		case <-m.done:
		case <-ctx.Done():
			return Result{}, errors.New("cancelled while the process was being ended")
		}
	}
	return Result{Content: s.readProcess(m, a.Offset)}, nil
}

func (s *Set) waitProcess(ctx context.Context, m *managed, a processArgs) error {
	patience := defaultWait
	if a.TimeoutSeconds > 0 {
		patience = min(time.Duration(a.TimeoutSeconds)*time.Second, maxWait)
	}
	timer := s.config.Clock.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-m.done:
	case <-timer.C():
	case <-ctx.Done():
		return errors.New("cancelled while waiting; the process goes on")
	}
	return nil
}

func (s *Set) writeProcess(m *managed, a processArgs) (Result, error) {
	if info := s.processes.state(m); !info.active() {
		return Result{}, fmt.Errorf("process %s does not run: %s", info.ID, info.summary())
	}
	if a.Input != "" {
		// The pipe's own deadline: the kernel's clock is the one that a full pipe waits by.
		_ = m.stdin.SetWriteDeadline(time.Now().Add(stdinPatience))
		n, err := m.stdin.WriteString(a.Input)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return Result{}, fmt.Errorf("the process has not read its input for %s: %d of %d bytes were taken", stdinPatience, n, len(a.Input))
		case err != nil:
			return Result{}, fmt.Errorf("the process does not take input any more: %w", plain(err))
		}
	}
	done := fmt.Sprintf("wrote %d bytes", len(a.Input))
	if a.CloseInput {
		if err := m.stdin.Close(); err != nil {
			return Result{}, errors.New("its input is closed already")
		}
		done += " and closed its input"
	}
	return Result{Content: done}, nil
}

// readProcess shows output from an offset, or from where the session has read to, and how the process is.
func (s *Set) readProcess(m *managed, offset *int64) string {
	info := s.processes.state(m)
	if m.log == nil {
		return "[" + info.summary() + "]"
	}
	s.processes.mu.Lock()
	at := m.seen
	s.processes.mu.Unlock()
	if offset != nil {
		at = *offset
	}
	text, from, total := m.log.read(at, s.outputLimit())
	if info.active() || from+int64(len(text)) < total {
		text = trimTail(text) // the rest of the character comes with the next read
	}
	for len(text) > 0 && from > at && !utf8.RuneStart(text[0]) {
		text, from = text[1:], from+1
	}
	end := from + int64(len(text))
	s.processes.mu.Lock()
	m.seen = end
	s.processes.mu.Unlock()
	var out strings.Builder
	if from > at {
		fmt.Fprintf(&out, "[bytes %d to %d were not kept in memory; %s]\n", at, from, m.log.place())
	}
	out.WriteString(readable(text))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "[bytes %d to %d of %d", from, end, total)
	if end < total {
		fmt.Fprintf(&out, "; continue with offset=%d", end)
	}
	fmt.Fprintf(&out, "; %s]", info.summary())
	return out.String()
}

// summary says in a few words how the process is.
func (i ProcessInfo) summary() string {
	switch i.State {
	case ProcessExited:
		if i.Detail != "" {
			return i.Detail
		}
		return fmt.Sprintf("exit code %d", i.ExitCode)
	case ProcessRunning:
		return fmt.Sprintf("running, pid %d", i.PID)
	case ProcessStarting:
		return "starting"
	}
	return string(i.State) + ": " + i.Detail
}

func listProcesses(list []ProcessInfo, now time.Time) string {
	if len(list) == 0 {
		return "[this session has started nothing in the background]"
	}
	var out strings.Builder
	for _, i := range list {
		fmt.Fprintf(&out, "%s  %s  started %s ago  %d bytes  %s\n", i.ID, i.summary(), now.Sub(i.StartedAt).Round(time.Second), i.Bytes, clip(oneLine(i.Command), 200))
	}
	return out.String()
}

// startBackground begins a command that outlives the call.
func (s *Set) startBackground(c Call, a terminalArgs) (Result, error) {
	callID := rand.Text()
	info, err := s.processes.start(c.session, command{
		line:    a.Command,
		dir:     s.config.Workspace,
		environ: buildEnviron(s.config, s.sandbox.commandHome, callID),
		marker:  callMarker + "=" + callID,
		orphans: s.config.Orphans,
	}, newProcessLog(func() (*os.File, error) { return s.createSpill(callID) }))
	if err != nil {
		return Result{}, err
	}
	return Result{Content: fmt.Sprintf("started in the background as %s, pid %d; process_manage reads its output, waits for it and ends it", info.ID, info.PID)}, nil
}
