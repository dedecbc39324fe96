package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

func TestDecide(t *testing.T) {
	rules, err := ParseRules([]string{"write_file", "terminal:git log*"})
	if err != nil {
		t.Fatal(err)
	}
	read := Question{Tool: "read_file", ReadOnly: true}
	file := Question{Tool: "write_file"}
	other := Question{Tool: "mcp__x__y"}
	gitLog := Question{Tool: "terminal", Subject: "git log -3"}
	build := Question{Tool: "terminal", Subject: "make"}
	chained := Question{Tool: "terminal", Subject: "git log; make"}
	danger := Question{Tool: "terminal", Subject: "git log -3", Dangerous: true}
	known := Question{Tool: "terminal", Subject: "make", Remembered: true}
	knownDanger := Question{Tool: "terminal", Subject: "rm -rf /", Dangerous: true, Remembered: true}
	const deny, ask, allow = VerdictDeny, VerdictAsk, VerdictAllow
	tests := []struct {
		name                           string
		q                              Question
		inAsk, inDeny, inAllow, noRule Verdict // noRule: mode Ask without rules
	}{
		{"read", read, allow, allow, allow, allow},
		{"write named by a rule", file, allow, allow, allow, ask},
		{"tool without a rule", other, ask, deny, allow, ask},
		{"command in the glob", gitLog, allow, allow, allow, ask},
		{"command outside the glob", build, ask, deny, allow, ask},
		{"chained command", chained, ask, deny, allow, ask},
		{"dangerous command in the glob", danger, ask, deny, allow, ask},
		{"remembered command", known, allow, allow, allow, allow},
		{"remembered dangerous command", knownDanger, ask, deny, allow, ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := []Verdict{Decide(ModeAsk, rules, tt.q), Decide(ModeDeny, rules, tt.q), Decide(ModeAllow, rules, tt.q), Decide(ModeAsk, nil, tt.q)}
			want := []Verdict{tt.inAsk, tt.inDeny, tt.inAllow, tt.noRule}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("Ask, Deny, Allow, Ask without rules = %v, want %v", got, want)
			}
		})
	}
}

// person answers and counts.
type person struct {
	answer Decision
	err    error
	asked  []ApprovalRequest
}

func (p *person) approve(_ context.Context, r ApprovalRequest) (Decision, error) {
	p.asked = append(p.asked, r)
	return p.answer, p.err
}

func TestApprovalRequestSaysWhatWillHappen(t *testing.T) {
	s := newTestSet(t, func(c *Config) { c.Mode = ModeAsk })
	p := &person{answer: DecisionDeny}
	r := s.Run(t.Context(), "s1", call("terminal", map[string]any{"command": "echo a\necho \x1b[8mb"}), p.approve)
	if !r.IsError || !strings.Contains(r.Content, "denied by the user") {
		t.Errorf("result = %+v", r)
	}
	want := ApprovalRequest{SessionID: "s1", CallID: "c1", Tool: "terminal", Summary: "run: echo a⏎echo \uFFFD[8mb", Reason: "dangerous command: contains characters that cannot be seen", Command: "echo a\necho \x1b[8mb"}
	if len(p.asked) != 1 || p.asked[0] != want {
		t.Errorf("asked %+v, want %+v", p.asked, want)
	}
}

func TestApprovalMemory(t *testing.T) {
	steps := func(s *Set, p *person, session, command string) int {
		before := len(p.asked)
		s.Run(context.Background(), session, call("terminal", map[string]any{"command": command}), p.approve)
		return len(p.asked) - before
	}
	tests := []struct {
		name                                   string
		answer                                 Decision
		again, otherCommand, otherSession, bad int
	}{
		{"deny", DecisionDeny, 1, 1, 1, 1},
		{"once", DecisionOnce, 1, 1, 1, 1},
		{"session", DecisionSession, 0, 1, 1, 1},
		{"always", DecisionAlways, 0, 1, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestSet(t, func(c *Config) { c.Mode = ModeAsk })
			p := &person{answer: tt.answer}
			if steps(s, p, "s1", "true") != 1 {
				t.Fatal("the first call was not asked")
			}
			// A dangerous command that does nothing here.
			const dangerous = "true sudo || sudo -n true"
			steps(s, p, "s1", dangerous)
			for _, kept := range s.Overview().Approvals {
				if kept.Subject == dangerous {
					t.Errorf("a decision about a dangerous command is kept: %+v", kept)
				}
			}
			p.answer = DecisionDeny
			got := []int{steps(s, p, "s1", "true"), steps(s, p, "s1", "true 2"), steps(s, p, "s2", "true"), steps(s, p, "s1", dangerous)}
			want := []int{tt.again, tt.otherCommand, tt.otherSession, tt.bad}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("asked again, for another command, in another session, for a dangerous one = %v, want %v", got, want)
			}
		})
	}
}

func TestApprovalRefusals(t *testing.T) {
	tests := []struct {
		name    string
		mode    Mode
		approve ApproveFunc
		want    string
	}{
		{"nobody present", ModeAsk, nil, "nobody is present"},
		{"mode Deny", ModeDeny, (&person{answer: DecisionAlways}).approve, "approvals.mode is Deny"},
		{"no answer in time", ModeAsk, (&person{answer: DecisionAlways, err: fmt.Errorf("waiting: %w", context.DeadlineExceeded)}).approve, "nobody answered in time"},
		{"asking fails", ModeAsk, (&person{answer: DecisionAlways, err: errors.New("socket closed")}).approve, "socket closed"},
		{"stopped at the question", ModeAsk, nil, "interrupted: the turn was stopped"},
		{"an answer from the future", ModeAsk, (&person{answer: 99}).approve, "denied by the user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestSet(t, func(c *Config) { c.Mode = tt.mode })
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if strings.HasPrefix(tt.name, "stopped") {
				tt.approve = func(ctx context.Context, _ ApprovalRequest) (Decision, error) {
					stop()
					return DecisionDeny, ctx.Err()
				}
			}
			r := s.Run(ctx, "s1", call("write_file", map[string]any{"path": "f", "content": "x"}), tt.approve)
			if !r.IsError || !strings.Contains(r.Content, tt.want) {
				t.Errorf("result = %+v, want an error containing %q", r, tt.want)
			}
			refused(t, s, "read_file", map[string]any{"path": "f"}, "no such file")
		})
	}
}

func TestApprovalMemoryIsBounded(t *testing.T) {
	m := newMemory(NewApprovals(filepath.Join(t.TempDir(), ApprovalsFile), clock.RealClock{}))
	for i := range 3 * maxRemembered {
		_ = m.add(fmt.Sprint(i), covered{"x", ""}, DecisionSession)
	}
	if len(m.sessions) != maxRemembered || len(m.order) != maxRemembered {
		t.Errorf("%d sessions and %d in order, want %d", len(m.sessions), len(m.order), maxRemembered)
	}
	if m.has("0", covered{"x", ""}) || !m.has(fmt.Sprint(3*maxRemembered-1), covered{"x", ""}) {
		t.Error("the oldest must be forgotten first")
	}
}

func TestWritesThatWouldBeRefusedAreNotAsked(t *testing.T) {
	s := newTestSet(t, func(c *Config) { c.Mode = ModeAsk })
	p := &person{answer: DecisionOnce}
	s.Run(t.Context(), "s1", call("write_file", map[string]any{"path": "/etc/x", "content": ""}), p.approve)
	if len(p.asked) != 0 {
		t.Errorf("asked %+v", p.asked)
	}
}
