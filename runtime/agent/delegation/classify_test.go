package delegation

import (
	"testing"

	"hermes.dev/hermes/runtime/session"
)

func liveTip() Tip { return Tip{ID: "tip"} }

// TestS220Classify is the table of S-220 and S-221: verdict and where Resolve goes with it.
func TestS220Classify(t *testing.T) {
	ended := func(reason session.EndReason, tip Tip) Parent { return Parent{Ended: true, Reason: reason, Tip: tip} }
	for name, tt := range map[string]struct {
		parent  Parent
		verdict Verdict
		target  string
	}{
		"T-250 live":                      {Parent{}, Deliver, "pinned"},
		"T-250 missing":                   {Parent{Missing: true}, Terminal, ""},
		"T-250 lookup error":              {Parent{Unreadable: true}, Retry, ""},
		"T-251 idle":                      {ended(session.EndIdle, Tip{}), Deliver, "current"},
		"T-251 timeout":                   {ended(session.EndIdleTimeout, Tip{}), Deliver, "current"},
		"T-251 agent_close":               {ended(session.EndAgentClose, Tip{}), Deliver, "current"},
		"T-252 session_reset":             {ended(session.EndSessionReset, Tip{}), Terminal, ""},
		"T-252 new_session":               {ended(session.EndNewSession, liveTip()), Terminal, ""},
		"T-252 user_exit":                 {ended(session.EndUserExit, Tip{}), Terminal, ""},
		"T-252 session_switch":            {ended(session.EndSessionSwitch, Tip{}), Terminal, ""},
		"T-253 compression, live tip":     {ended(session.EndCompression, liveTip()), Deliver, "tip"},
		"T-253 compression, no tip":       {ended(session.EndCompression, Tip{}), Retry, ""},
		"T-253 compression, ended tip":    {ended(session.EndCompression, Tip{ID: "tip", Ended: true}), Retry, ""},
		"S-220 compression, tip itself":   {ended(session.EndCompression, Tip{ID: "pinned", Same: true}), Retry, ""},
		"S-220 compression, lookup fails": {ended(session.EndCompression, Tip{ID: "tip", Unreadable: true}), Retry, ""},
		"S-220 an unknown reason":         {ended("something_new", Tip{}), Deliver, "current"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Classify(tt.parent); got != tt.verdict {
				t.Errorf("verdict %s, want %s", got, tt.verdict)
			}
			if got := Resolve(tt.parent, "pinned", "current"); got != tt.target {
				t.Errorf("target %q, want %q", got, tt.target)
			}
		})
	}
}

// TestT254Coherence: whatever a parent looks like, the verdict deliver has a session to deliver to.
func TestT254Coherence(t *testing.T) {
	reasons := []session.EndReason{
		session.EndSessionReset, session.EndSessionSwitch, session.EndIdle, session.EndDaily, session.EndSuspended,
		session.EndResumePendingExpired, session.EndNewSession, session.EndAgentClose, session.EndWSOrphanReap,
		session.EndSupersededByResume, session.EndStartupOrphanReap, session.EndTUIShutdown, session.EndWSDisconnect,
		session.EndIdleTimeout, session.EndLRUEvict, session.EndUserExit, session.EndCompression, "", "unheard_of",
	}
	tips := []Tip{{}, liveTip(), {ID: "t", Ended: true}, {ID: "t", Same: true}, {Unreadable: true}, {ID: "t", Unreadable: true}}
	delivered := 0
	for _, reason := range reasons {
		for _, tip := range tips {
			for bits := range 8 {
				p := Parent{Unreadable: bits&1 != 0, Missing: bits&2 != 0, Ended: bits&4 != 0, Reason: reason, Tip: tip}
				for _, current := range []string{"", "current"} {
					verdict, target := Classify(p), Resolve(p, "pinned", current)
					if (verdict == Deliver) != (target != "") {
						t.Errorf("T-254 %+v, current %q: %s but target %q", p, current, verdict, target)
					}
					if verdict == Deliver {
						delivered++
					}
				}
			}
		}
	}
	if delivered == 0 {
		t.Error("nothing was delivered")
	}
}

func TestS222Guard(t *testing.T) {
	for name, tt := range map[string]struct {
		child      bool
		pin, route string
		current    string
		want       string
	}{
		"S-222 own session":        {false, "k", "k", "current", "pinned"},
		"S-222 a delegate's child": {true, "k", "k", "current", "current"},
		"S-222 another route's":    {false, "x", "k", "current", "current"},
		"S-222 nothing is current": {true, "k", "k", "", "pinned"},
	} {
		if got := Guard("pinned", tt.current, tt.child, tt.pin, tt.route); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestS224Choose(t *testing.T) {
	alias := func(n string) string {
		if n == "wa" {
			return "whatsapp"
		}
		return n
	}
	relay := Adapter{Name: "relay", Relay: true, Fronts: []string{"discord", "WA"}}
	for name, tt := range map[string]struct {
		platform string
		adapters []Adapter
		want     string
	}{
		"S-224 native wins over the relay":  {"discord", []Adapter{relay, {Name: "discord"}}, "discord"},
		"S-224 native by an alias":          {"whatsapp", []Adapter{{Name: "wa"}}, "wa"},
		"S-224 relay that fronts it":        {"discord", []Adapter{relay}, "relay"},
		"S-224 relay fronts something else": {"slack", []Adapter{relay}, ""},
		"S-224 a relay is no literal match": {"relay", []Adapter{relay}, ""},
		"S-224 none":                        {"discord", nil, ""},
	} {
		if got, ok := Choose(tt.platform, tt.adapters, alias); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// T-257: after a restart with an empty session store the event's own routing and the key are what there is.
func TestS225Rebuild(t *testing.T) {
	e := Event{SessionKey: "agent:main:discord:group:C1:U1", Routing: Routing{ScopeID: "G1", UserID: "U1", UserName: "Ann"}}
	s, unscoped := Rebuild(nil, nil, e)
	if want := (session.Source{Platform: "discord", ChatType: "group", ChatID: "C1", ScopeID: "G1", UserID: "U1", UserName: "Ann"}); s != want || unscoped {
		t.Errorf("T-257: %+v, %v", s, unscoped)
	}
	e.ScopeID = ""
	if _, unscoped := Rebuild(nil, nil, e); !unscoped {
		t.Error("S-225: a scoped chat without a scope needs a warning")
	}
	stored, cached := &session.Source{Platform: "slack", ChatID: "S", ScopeID: "T"}, &session.Source{Platform: "slack", ChatID: "C", ScopeID: "T"}
	if s, _ := Rebuild(stored, cached, e); s.ChatID != "S" {
		t.Errorf("S-225 the stored origin wins: %+v", s)
	}
	if s, _ := Rebuild(nil, cached, e); s.ChatID != "C" {
		t.Errorf("S-225 then the cached one: %+v", s)
	}
	if s, _ := Rebuild(nil, nil, Event{SessionKey: "agent:main:slack:dm:T1:D1"}); s.ScopeID != "T1" || s.ChatID != "D1" {
		t.Errorf("S-225 a Slack key: %+v", s)
	}
	if s, _ := Rebuild(nil, nil, Event{SessionKey: "agent:main:discord:thread:C1:M7"}); s.ThreadID != "M7" {
		t.Errorf("S-225 a thread's key: %+v", s)
	}
	if s, _ := Rebuild(nil, nil, Event{}); s != (session.Source{}) {
		t.Errorf("S-225 no key: %+v", s)
	}
}
