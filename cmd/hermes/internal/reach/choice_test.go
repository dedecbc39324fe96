package reach

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/store"
)

// says reports whether an error, or its absence when want is "", is the expected one.
func says(err error, code int, want string) bool {
	return exit.Code(err) == code && (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want))
}

func TestPick(t *testing.T) {
	many := make([]string, 15)
	for i := range many {
		many[i] = "p" + string(rune('a'+i))
	}
	for name, c := range map[string]struct {
		names  []string
		wanted string
		want   string
		code   int
		says   string
	}{
		"named":        {[]string{"b", "a"}, "b", "b", 0, ""},
		"unknown":      {[]string{"b", "a"}, "c", "", exit.Failed, `no profile "c" here: a, b`},
		"none":         {nil, "", "", exit.Failed, "hermes apply"},
		"the only one": {[]string{"a"}, "", "a", 0, ""},
		"default":      {[]string{"a", "default"}, "", "default", 0, ""},
		"several":      {[]string{"b", "a"}, "", "", exit.Usage, "-p: a, b"},
		"very many":    {many, "", "", exit.Usage, "and 5 more"},
	} {
		got, err := Pick(c.names, c.wanted, "here")
		if got != c.want || !says(err, c.code, c.says) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestFlagsArgument(t *testing.T) {
	for name, c := range map[string]struct {
		flags Flags
		args  []string
		want  string
		says  string
	}{
		"neither":         {Flags{}, nil, "", ""},
		"the argument":    {Flags{}, []string{"a"}, "a", ""},
		"the flag":        {Flags{Profile: "a"}, nil, "a", ""},
		"both the same":   {Flags{Profile: "a"}, []string{"a"}, "a", ""},
		"both":            {Flags{Profile: "a"}, []string{"b"}, "", "name one of them"},
		"two":             {Flags{}, []string{"a", "b"}, "", "name one profile"},
		"home and socket": {Flags{Home: "/h", Socket: "/s"}, nil, "", "use one of them"},
	} {
		code := 0
		if c.says != "" {
			code = exit.Usage
		}
		if err := c.flags.Argument(c.args); !says(err, code, c.says) || err == nil && c.flags.Profile != c.want {
			t.Errorf("%s: %+v, %v", name, c.flags, err)
		}
	}
}

// TestChooseHome is the truth table of --home.
func TestChooseHome(t *testing.T) {
	both := homeSeen{itself: true, profiles: []string{"alice", "bob"}}
	two := homeSeen{profiles: []string{"alice", "bob"}}
	one := homeSeen{profiles: []string{"alice"}}
	home, empty := homeSeen{itself: true}, homeSeen{}
	fill := Need{Empty: true}
	for name, c := range map[string]struct {
		dir    string
		seen   homeSeen
		wanted string
		need   Need
		want   string // the home
		code   int
		says   string
	}{
		"a profile's home":                {"/r/profiles/alice", home, "", Need{}, "/r/profiles/alice", 0, ""},
		"and its name":                    {"/r/profiles/alice", home, "alice", Need{}, "/r/profiles/alice", 0, ""},
		"and another name":                {"/r/profiles/alice", home, "bob", Need{}, "", 2, "is the home of profile alice and -p says bob"},
		"one that is empty, to be filled": {"/r/profiles/alice", empty, "", fill, "/r/profiles/alice", 0, ""},
		"one that is empty":               {"/r/profiles/alice", empty, "", Need{}, "", 2, "no profile's home"},
		"a root and a name":               {"/r", two, "bob", Need{}, "/r/profiles/bob", 0, ""},
		"a root and an unknown name":      {"/r", two, "carol", Need{}, "", 1, `no profile "carol" below /r: alice, bob`},
		"a root of several":               {"/r", two, "", Need{}, "", 2, "which profile?"},
		"a root of one":                   {"/r", one, "", Need{}, "/r/profiles/alice", 0, ""},
		"the default profile":             {"/r", home, "", Need{}, "/r", 0, ""},
		"the default profile, named":      {"/r", home, "default", Need{}, "/r", 0, ""},
		"the default one is no other":     {"/r", home, "alice", Need{}, "", 1, `no profile "alice" below /r: default`},
		"default among others":            {"/r", both, "", Need{}, "/r", 0, ""},
		"another beside default":          {"/r", both, "alice", Need{}, "/r/profiles/alice", 0, ""},
		"nothing":                         {"/r", empty, "", Need{}, "", 2, "no profile's home, and there is none below it"},
		"nothing, to be filled":           {"/r", empty, "", fill, "/r", 0, ""},
		"nothing, to be filled by name":   {"/r", empty, "alice", fill, "", 1, "make and name its home, /r/profiles/alice"},
		"a root that is called like one":  {"/srv/profiles/main", two, "bob", Need{}, "/srv/profiles/main/profiles/bob", 0, ""},
	} {
		got, err := chooseHome(c.dir, c.seen, c.wanted, c.need)
		if got.Home != c.want || !says(err, c.code, c.says) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func declaredProfile(name, gateway string, status *v1alpha1.ProfileGatewayStatus) v1alpha1.Profile {
	p := v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	p.Spec.GatewayRef.Name, p.Status.Gateway = gateway, status
	return p
}

func declaredGateway(name, home, socket string, engine v1alpha1.EngineType) v1alpha1.Gateway {
	g := v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	g.Spec.Engine, g.Status.Home = engine, home
	if socket != "" {
		g.Status.Instance = &v1alpha1.GatewayInstance{APISocket: socket}
	}
	return g
}

// TestChooseDeclared is where the data of a declared profile is, ready or not.
func TestChooseDeclared(t *testing.T) {
	s := statusview.Snapshot{
		Profiles: []v1alpha1.Profile{
			declaredProfile("alice", "", nil), declaredProfile("bob", "second", nil), declaredProfile("carol", "pod", nil),
			declaredProfile("dave", "gone", nil), declaredProfile("erin", "new", nil),
			declaredProfile("frank", "gone", &v1alpha1.ProfileGatewayStatus{Name: "gone", Home: "/old/profiles/frank"}),
			declaredProfile("gina", "second", &v1alpha1.ProfileGatewayStatus{Name: "default", Home: "/h/profiles/gina"}),
		},
		Gateways: []v1alpha1.Gateway{
			declaredGateway("default", "/h", "/h/s", v1alpha1.EngineProcess), declaredGateway("second", "/h2", "", v1alpha1.EngineProcess),
			declaredGateway("pod", "", "", v1alpha1.EngineKubernetes), declaredGateway("new", "", "", v1alpha1.EngineProcess),
		},
	}
	for wanted, c := range map[string]struct {
		want Target
		code int
		says string
	}{
		"alice": {Target{"alice", "default", "/h", "/h/profiles/alice", "/h/s"}, 0, ""},
		"bob":   {Target{"bob", "second", "/h2", "/h2/profiles/bob", ""}, 0, ""},
		"carol": {Target{}, 1, "in the pod of gateway pod"},
		"dave":  {Target{}, 1, "there is no gateway gone"},
		"erin":  {Target{}, 1, "has never run"},
		"frank": {Target{"frank", "gone", "/old", "/old/profiles/frank", ""}, 0, ""},
		"gina":  {Target{"gina", "second", "/h2", "/h2/profiles/gina", ""}, 0, ""}, // it moved, and nothing serves it yet
		"":      {Target{}, 2, "which profile?"},
		"zoe":   {Target{}, 1, `no profile "zoe"`},
	} {
		got, err := chooseDeclared(s, "default", wanted, Need{}, time.Now())
		if !says(err, c.code, c.says) || err == nil && got != c.want {
			t.Errorf("%q: %+v, %v", wanted, got, err)
		}
	}
}

// TestChooseReady is which profiles can be talked with.
func TestChooseReady(t *testing.T) {
	profile := func(status metav1.ConditionStatus, reason, message, gateway string) v1alpha1.Profile {
		p := declaredProfile("alice", gateway, nil)
		if status != "" {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}}
		}
		return p
	}
	suspended := profile(metav1.ConditionFalse, v1alpha1.ReasonSuspended, "", "")
	suspended.Spec.Suspended = true
	stopped := declaredGateway("default", "", "", v1alpha1.EngineProcess)
	inPod := stopped
	inPod.Status.Instance = &v1alpha1.GatewayInstance{Pod: "x"}
	running := declaredGateway("default", "", "/s", v1alpha1.EngineProcess)
	missing := profile(metav1.ConditionFalse, "CredentialMissing", `Secret "anthropic" has no key "API_KEY"`, "")
	for name, c := range map[string]struct {
		profile v1alpha1.Profile
		gateway v1alpha1.Gateway
		socket  string
		says    string
	}{
		"ready":              {profile(metav1.ConditionTrue, "Ready", "", ""), running, "/s", ""},
		"not ready":          {missing, running, "", `CredentialMissing: Secret "anthropic"`},
		"and what to do":     {missing, running, "", "kind: Secret, metadata: {name: anthropic}, stringData: {API_KEY: "},
		"model refused":      {profile(metav1.ConditionFalse, "ModelRefused", "401", ""), running, "/s", ""},
		"model is away":      {profile(metav1.ConditionFalse, "ModelUnreachable", "x", ""), running, "/s", ""},
		"store was locked":   {profile(metav1.ConditionFalse, "StoreUnavailable", "x", ""), running, "/s", ""},
		"not looked at":      {profile("", "", "", ""), running, "", "nothing has looked at it yet"},
		"suspended":          {suspended, running, "", "spec.suspended"},
		"no gateway":         {profile(metav1.ConditionTrue, "Ready", "", "none"), running, "", "hermes status gateway/none"},
		"gateway is stopped": {profile(metav1.ConditionTrue, "Ready", "", ""), stopped, "", "does not run"},
		"in the cluster":     {profile(metav1.ConditionTrue, "Ready", "", ""), inPod, "", "engine Process"},
	} {
		s := statusview.Snapshot{Profiles: []v1alpha1.Profile{c.profile}, Gateways: []v1alpha1.Gateway{c.gateway}}
		got, err := chooseDeclared(s, "default", "", Need{Ready: true}, time.Now())
		code := exit.OK
		if c.says != "" {
			code = exit.Failed
		}
		if !says(err, code, c.says) || err == nil && got.Socket != c.socket {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestChooseHeld: a process that has the store open may end, so it is tried again later; another Profile that owns the home
// stays. The words of the first are the store's own.
func TestChooseHeld(t *testing.T) {
	for message, code := range map[string]int{
		(&store.BusyError{Path: "/h/state.db", PID: 812}).Error():                                            exit.TryAgain,
		(&store.BusyError{Path: "/h/state.db"}).Error():                                                      exit.TryAgain,
		(&home.ErrHomeInUse{Home: "/h", Owner: home.Identity{Namespace: "default", Profile: "bob"}}).Error(): exit.Failed,
	} {
		p := declaredProfile("alice", "", nil)
		p.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHomeInUse, Message: message,
		}}
		s := statusview.Snapshot{Profiles: []v1alpha1.Profile{p}, Gateways: []v1alpha1.Gateway{declaredGateway("default", "", "/s", v1alpha1.EngineProcess)}}
		if _, err := chooseDeclared(s, "default", "", Need{Ready: true}, time.Now()); !says(err, code, "HomeInUse: "+message) {
			t.Errorf("code %d: %v", exit.Code(err), err)
		}
	}
}

// TestChooseResident: without a control plane a profile that is served is preferred to a home that has its name.
func TestChooseResident(t *testing.T) {
	at := func(profile, gateway string, served bool) resident {
		root := filepath.Join("/d/default", gateway)
		return resident{Target{Profile: profile, Gateway: gateway, Root: root, Home: home.ForHome(filepath.Join(root, "profiles", profile)).Home}, served}
	}
	all := []resident{at("alice", "old", false), at("alice", "new", true), at("alice", "third", false), at("alice", "fourth", true), at("bob", "old", false), at("bob", "third", false)}
	for name, c := range map[string]struct {
		all     []resident
		wanted  string
		need    Need
		gateway string
		code    int
		says    string
	}{
		"served":                     {all, "alice", Need{}, "new", 0, ""},
		"served, to talk":            {all, "", Need{Ready: true}, "new", 0, ""},
		"on disk":                    {all, "bob", Need{}, "old", 0, ""},
		"on disk, to talk":           {all, "bob", Need{Ready: true}, "", 1, `"bob" at the gateways that run in namespace n: alice`},
		"unknown":                    {all, "carol", Need{}, "", 1, `"carol" in the homes of namespace n: alice, bob`},
		"several":                    {all, "", Need{}, "", 2, "which profile?"},
		"none at all":                {nil, "alice", Need{}, "", 0, ""},
		"none that answers, to talk": {all[4:], "", Need{Ready: true}, "", 0, ""},
	} {
		got, ok, err := chooseResident(c.all, "n", c.wanted, c.need)
		if got.Gateway != c.gateway || ok != (c.gateway != "") || !says(err, c.code, c.says) {
			t.Errorf("%s: %+v, %t, %v", name, got, ok, err)
		}
	}
}
