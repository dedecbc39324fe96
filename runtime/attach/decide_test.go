package attach

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"hermes.dev/hermes/runtime/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func known(profiles ...string) ServedSet { return ServedSet{Known: true, Profiles: profiles} }

func rescan(multiplex *bool, pending bool, profiles ...string) *host.Rescan {
	return &host.Rescan{Rescanned: !pending, Pending: pending, Multiplex: multiplex, ServedProfiles: profiles}
}

// TestDecide is the truth table of G-255, row by row, and the cases of §9.2 that are a row with a story.
func TestDecide(t *testing.T) {
	owner := &Owner{PID: 7, Home: "/r", Profile: "default"}
	no, yes := false, true
	for name, c := range map[string]struct {
		facts     Facts
		rule      string
		outcome   Outcome
		transient bool
	}{
		"D1 probe raised":                                        {Facts{ProbeFailed: true, Owner: owner}, "D1", Start, false},
		"D2 T-040 no record":                                     {Facts{}, "D2", Start, false},
		"D3 T-054 owner is this process":                         {Facts{Owner: &Owner{PID: 1}, Served: known("coder")}, "D3", Start, false},
		"D3 before D4":                                           {Facts{Owner: &Owner{PID: 1}, Replace: true}, "D3", Start, false},
		"D4 T-048 replace, owner serves":                         {Facts{Owner: owner, Replace: true, Served: known("coder")}, "D4", Replace, false},
		"D4 T-049 replace, set unknown":                          {Facts{Owner: owner, Replace: true}, "D4", Replace, false},
		"D4 a declared owner is not replaced":                    {Facts{Owner: &Owner{PID: 7, Declared: true}, Replace: true, Served: known("coder")}, "D6", Attach, true},
		"D5 replace, owner serves others":                        {Facts{Owner: owner, Replace: true, Served: known("default")}, "D9", NeedRescan, false},
		"D5 replace, rescan excludes":                            {Facts{Owner: owner, Replace: true, Served: known("default"), Rescanned: true, Rescan: rescan(&yes, false, "default")}, "D12", Refuse, false},
		"D5 T-047 replace beside a standalone gateway":           {Facts{Owner: owner, Replace: true, Served: known("ops"), Rescanned: true, Rescan: rescan(&no, false, "ops")}, "D10", Start, false},
		"D6 T-042 owner serves":                                  {Facts{Owner: owner, Served: known("default", "coder")}, "D6", Attach, true},
		"D7 T-041 silent owner is waited for":                    {Facts{Owner: owner}, "D7", NeedWait, false},
		"D7 T-059 vanished during the wait":                      {Facts{Waited: true}, "D7", Start, false},
		"D8 T-058 answers within the wait":                       {Facts{Owner: owner, Waited: true, Served: known("coder")}, "D8", Attach, true},
		"D9 silent after the wait is asked to rescan":            {Facts{Owner: owner, Waited: true}, "D9", NeedRescan, false},
		"D9 T-043 rescan includes":                               {Facts{Owner: owner, Served: known("default"), Rescanned: true, Rescan: rescan(&yes, false, "default", "coder")}, "D9", Attach, true},
		"D9 rescan includes although identify was silent":        {Facts{Owner: owner, Waited: true, Rescanned: true, Rescan: rescan(nil, false, "coder")}, "D9", Attach, true},
		"D10 T-045 T-046 owner does not multiplex":               {Facts{Owner: owner, Served: known("ops"), Rescanned: true, Rescan: rescan(&no, false, "ops")}, "D10", Start, false},
		"D11 T-041 T-051 T-052 nothing usable":                   {Facts{Owner: owner, Waited: true, Rescanned: true}, "D11", Refuse, true},
		"D11 an unproved owner's rescan excludes":                {Facts{Owner: owner, Waited: true, Rescanned: true, Rescan: rescan(&yes, false, "default")}, "D11", Refuse, true},
		"D12 T-044 rescan excludes":                              {Facts{Owner: owner, Served: known("default"), Rescanned: true, Rescan: rescan(&yes, false, "default")}, "D12", Refuse, false},
		"D13 Q-1 rescan not answered":                            {Facts{Owner: owner, Served: known("default"), Rescanned: true}, "D13", Refuse, true},
		"D13 Q-1 owner still starting":                           {Facts{Owner: owner, Served: known("default"), Rescanned: true, Rescan: rescan(&yes, true, "default")}, "D13", Refuse, true},
		"D14 T-050 force":                                        {Facts{Owner: owner, Force: true, Served: known("coder")}, "D14", Start, false},
		"G-256 opted out, nobody there":                          {Facts{OptedOut: true}, "G-256", Start, false},
		"G-256 opted out, silent owner is waited for":            {Facts{OptedOut: true, Owner: owner}, "G-256", NeedWait, false},
		"G-256 opted out, still silent":                          {Facts{OptedOut: true, Owner: owner, Waited: true, Fleet: []Member{{Owner: *owner}}}, "G-256", Refuse, true},
		"G-256 opted out, host serves others":                    {Facts{OptedOut: true, Owner: owner, Served: known("default"), Fleet: []Member{{*owner, known("default")}}}, "G-256", Start, false},
		"G-256 opted out, a fleet member serves it":              {Facts{OptedOut: true, Owner: owner, Served: known("default"), Fleet: []Member{{*owner, known("default")}, {Owner{PID: 9}, known("coder")}}}, "G-256", Refuse, true},
		"G-256 opted out, a fleet member is silent":              {Facts{OptedOut: true, Fleet: []Member{{Owner: Owner{PID: 9}}}}, "G-256", Refuse, true},
		"G-256 opted out, replace does not end a host of others": {Facts{OptedOut: true, Replace: true, Owner: owner, Served: known("default"), Fleet: []Member{{*owner, known("default")}}}, "G-256", Start, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.facts.Profile, c.facts.SelfPID = "coder", 1
			got := Decide(c.facts)
			if got.Rule != c.rule || got.Outcome != c.outcome || got.Transient != c.transient {
				t.Errorf("Decide = %s %s transient=%t, want %s %s transient=%t", got.Rule, got.Outcome, got.Transient, c.rule, c.outcome, c.transient)
			}
			if got.Converge != (c.rule == "D10") {
				t.Errorf("Converge = %t", got.Converge)
			}
		})
	}
}

// TestExitCode is the two right columns of G-255 (T-055, T-056, T-057, Q-2).
func TestExitCode(t *testing.T) {
	for name, c := range map[string]struct {
		d                      Decision
		foreground, supervised int
		ends                   bool
	}{
		"T-055 attach":            {Decision{Outcome: Attach, Transient: true}, 0, 75, true},
		"T-056 refuse, transient": {Decision{Outcome: Refuse, Transient: true}, 75, 75, true},
		"T-057 refuse, permanent": {Decision{Outcome: Refuse}, 78, 78, true},
		"start":                   {Decision{Outcome: Start}, 0, 0, false},
		"replace":                 {Decision{Outcome: Replace}, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			for supervised, want := range map[bool]int{false: c.foreground, true: c.supervised} {
				if code, ends := ExitCode(c.d, supervised); code != want || ends != c.ends {
					t.Errorf("ExitCode(supervised %t) = %d %t, want %d %t", supervised, code, ends, want, c.ends)
				}
			}
		})
	}
}

// TestLostLock is G-227.
func TestLostLock(t *testing.T) {
	no, yes := false, true
	for name, c := range map[string]struct {
		force  bool
		rescan *host.Rescan
		want   Contest
	}{
		"T-014 holder multiplexes":    {false, rescan(&yes, false, "default"), Yield},
		"T-014 holder says nothing":   {false, rescan(nil, false, "default"), Yield},
		"T-017 holder is standalone":  {false, rescan(&no, false, "ops"), Beside},
		"T-018 holder never answers":  {false, nil, Yield},
		"G-227 force":                 {true, nil, Forced},
		"G-227 force, multiplexing":   {true, rescan(&yes, false), Forced},
		"G-227 force, but standalone": {true, rescan(&no, false), Forced},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LostLock(c.force, c.rescan); got != c.want {
				t.Errorf("LostLock = %s, want %s", got, c.want)
			}
		})
	}
}

// TestExplain pins what people need to go on (G-258, G-405).
func TestExplain(t *testing.T) {
	owner := &Owner{PID: 7, Home: "/r/profiles/ops", Profile: "ops"}
	for name, c := range map[string]struct {
		d    Decision
		want []string
	}{
		"attach":    {Decision{Outcome: Attach, Owner: owner, Served: known("ops", "coder")}, []string{"pid 7", "launched as ops", "coder, ops", "hermes gateway status -p ops"}},
		"transient": {Decision{Outcome: Refuse, Transient: true, Owner: owner}, []string{"not published yet", "nothing was started", "supervisor", "--replace", "--force", "migrate --multiplex"}},
		"permanent": {Decision{Outcome: Refuse, Owner: owner, Served: known("ops")}, []string{"does not serve profile coder", "--replace", "--force", "migrate --multiplex"}},
		"converge":  {Decision{Outcome: Start, Converge: true, Owner: owner, Served: known("ops")}, []string{"migrate --multiplex"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(Explain(c.d, "coder"), "\n")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
		})
	}
	if lines := Explain(Decision{Outcome: Start}, "coder"); len(lines) != 0 {
		t.Errorf("a plain start says %q", lines)
	}
}
