package host

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"
)

const validRecord = `{"role":"gateway","home":"/r/profiles/ops","pid":12,"createTime":1700000000.25,"host":"127.0.0.1","port":8642,` +
	`"protocolVersion":1,"tokenFingerprint":"2bb80d537b1da3e3","profiles":["default","ops"],"updatedAt":"2026-01-02T03:04:05Z"}`

// with returns the valid record with members replaced; a nil value removes the member.
func with(t *testing.T, changes map[string]any) []byte {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(validRecord), &members); err != nil {
		t.Fatal(err)
	}
	maps.Copy(members, changes)
	for key, value := range changes {
		if value == nil {
			delete(members, key)
		}
	}
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// G-222: the keys, types and values.
func TestParseRecord(t *testing.T) {
	record, ok := ParseRecord([]byte(validRecord), "/r")
	created, port := 1700000000.25, 8642
	want := Record{
		Role: RoleGateway, Home: "/r/profiles/ops", PID: 12, CreateTime: &created, Host: "127.0.0.1", Port: &port, ProtocolVersion: 1,
		TokenFingerprint: "2bb80d537b1da3e3", Profiles: []string{"default", "ops"}, UpdatedAt: "2026-01-02T03:04:05Z",
	}
	if !ok || !reflect.DeepEqual(record, want) {
		t.Fatalf("got %+v, %v", record, ok)
	}
	data, err := record.encode()
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(data, &a) != nil || json.Unmarshal([]byte(validRecord), &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("written as %s", data)
	}
}

// T-008, Q-20: what is not a record.
func TestNotARecord(t *testing.T) {
	raw := json.RawMessage(nil)
	number := func(s string) any { return append(raw, s...) }
	for name, data := range map[string][]byte{
		"T-008 pid 0":             with(t, map[string]any{"pid": 0}),
		"T-008 pid is a string":   with(t, map[string]any{"pid": "12"}),
		"T-008 unknown role":      with(t, map[string]any{"role": "x"}),
		"pid negative":            with(t, map[string]any{"pid": -3}),
		"pid missing":             with(t, map[string]any{"pid": nil}),
		"pid null":                with(t, map[string]any{"pid": number("null")}),
		"Q-20 pid 12.0":           with(t, map[string]any{"pid": number("12.0")}),
		"Q-20 pid 1.2e1":          with(t, map[string]any{"pid": number("1.2e1")}),
		"Q-20 pid true":           with(t, map[string]any{"pid": true}),
		"pid beyond any kernel":   with(t, map[string]any{"pid": number("4294967308")}),
		"pid beyond 64 bits":      with(t, map[string]any{"pid": number("99999999999999999999")}),
		"Q-20 port is a string":   with(t, map[string]any{"port": "8642"}),
		"Q-20 port 8642.5":        with(t, map[string]any{"port": 8642.5}),
		"port out of range":       with(t, map[string]any{"port": 70000}),
		"role of another type":    with(t, map[string]any{"role": 3}),
		"key in another case":     []byte(`{"Role":"gateway","PID":12}`),
		"list":                    []byte(`[` + validRecord + `]`),
		"null":                    []byte(`null`),
		"empty":                   nil,
		"torn write":              []byte(validRecord[:60]),
		"two objects":             []byte(validRecord + validRecord),
		"not UTF-8":               []byte("{\"role\":\"gateway\",\"pid\":12,\"home\":\"\xff\"}"),
		"byte order mark, UTF-16": []byte("\xff\xfe{\x00}\x00"),
	} {
		if got, ok := ParseRecord(data, "/r"); ok {
			t.Errorf("%s: %s is taken for %+v", name, data, got)
		}
	}
}

// G-222: what costs a member but not the record.
func TestTolerantRecord(t *testing.T) {
	for _, tc := range []struct {
		name  string
		data  []byte
		check func(Record) bool
	}{
		{"byte order mark", append([]byte("\xef\xbb\xbf"), validRecord...), func(r Record) bool { return r.PID == 12 }},
		{"home missing", with(t, map[string]any{"home": nil}), func(r Record) bool { return r.Home == "/default/root" }},
		{"createTime null", with(t, map[string]any{"createTime": json.RawMessage("null")}), func(r Record) bool { return r.CreateTime == nil }},
		{"createTime of another type", with(t, map[string]any{"createTime": "x"}), func(r Record) bool { return r.CreateTime == nil }},
		{"createTime integral", with(t, map[string]any{"createTime": 17}), func(r Record) bool { return r.CreateTime != nil && *r.CreateTime == 17 }},
		{"port null", with(t, map[string]any{"port": json.RawMessage("null")}), func(r Record) bool { return r.Port == nil }},
		{"port missing", with(t, map[string]any{"port": nil}), func(r Record) bool { return r.Port == nil }},
		{"profiles of another type", with(t, map[string]any{"profiles": "ops"}), func(r Record) bool { return r.Profiles != nil && len(r.Profiles) == 0 }},
		{"profiles with other elements", with(t, map[string]any{"profiles": []any{1, "ops", nil}}), func(r Record) bool { return reflect.DeepEqual(r.Profiles, []string{"ops"}) }},
		{"newer member", with(t, map[string]any{"colour": "blue"}), func(r Record) bool { return r.PID == 12 }},
		{"other role", with(t, map[string]any{"role": "desktop-serve"}), func(r Record) bool { return r.Role == RoleDesktopServe }},
		{"version 2", with(t, map[string]any{"protocolVersion": 2}), func(r Record) bool { return r.ProtocolVersion == 0 }},
		{"version missing", with(t, map[string]any{"protocolVersion": nil}), func(r Record) bool { return r.ProtocolVersion == 0 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, ok := ParseRecord(tc.data, "/default/root"); !ok || !tc.check(got) {
				t.Errorf("%s read as %+v, %v", tc.data, got, ok)
			}
		})
	}
}

// G-222: the fingerprint is the first 16 hex digits of SHA-256.
func TestTokenFingerprint(t *testing.T) {
	for token, want := range map[string]string{"": "", "secret": "2bb80d537b1da3e3"} {
		if got := TokenFingerprint(token); got != want {
			t.Errorf("%q: %q, want %q", token, got, want)
		}
	}
}

// G-224: the whole truth table.
func TestJudgeRecord(t *testing.T) {
	created := func(c float64) *float64 { return &c }
	base := func(change func(*Record)) *Record {
		r := Record{Role: RoleGateway, PID: 12, ProtocolVersion: 1, CreateTime: created(1000), StartTime: 50, BootID: "b1"}
		change(&r)
		return &r
	}
	same := func(*Record) {}
	foreign := func(r *Record) { r.StartTime, r.BootID = 0, "" } // as another implementation writes it
	running := Observation{State: Alive, StartTime: 50, CreateTime: 1000, BootID: "b1"}
	seen := func(change func(*Observation)) Observation { o := running; change(&o); return o }
	for _, tc := range []struct {
		name   string
		record *Record
		seen   Observation
		want   Standing
	}{
		{"absent", nil, running, Stale},
		{"T-009 unknown version, live pid", base(func(r *Record) { r.ProtocolVersion = 2 }), running, Stale},
		{"dead pid", base(same), Observation{State: Dead}, Stale},
		{"process not observable", base(same), Observation{State: Unknown}, Candidate},
		{"same process", base(same), running, Owner},
		{"same process after the clock was stepped", base(same), seen(func(o *Observation) { o.CreateTime = 9e8 }), Owner},
		{"other start in this boot", base(same), seen(func(o *Observation) { o.StartTime = 51 }), Stale},
		{"same ticks in another boot", base(same), seen(func(o *Observation) { o.BootID = "b2" }), Stale},
		{"foreign record, same creation time", base(foreign), running, Owner},
		{"foreign record, within tolerance", base(foreign), seen(func(o *Observation) { o.CreateTime = 1001 }), Owner},
		{"foreign record, other creation time", base(foreign), seen(func(o *Observation) { o.CreateTime = 1003 }), Stale},
		{"foreign record without creation time", base(func(r *Record) { foreign(r); r.CreateTime = nil }), running, Candidate},
		{"foreign record with zero creation time", base(func(r *Record) { foreign(r); r.CreateTime = created(0) }), running, Candidate},
		{"creation time not observable", base(foreign), seen(func(o *Observation) { o.CreateTime = 0 }), Candidate},
		{"start not observable, creation time is", base(same), seen(func(o *Observation) { o.StartTime = 0 }), Owner},
		{"boot not observable, creation time differs", base(same), seen(func(o *Observation) { o.BootID, o.CreateTime = "", 5000 }), Stale},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, reason := JudgeRecord(tc.record, tc.seen); got != tc.want || reason == "" {
				t.Errorf("got %s (%s), want %s", got, reason, tc.want)
			}
		})
	}
}

// G-224: a gateway is dialled on positive proof only.
func TestMayDial(t *testing.T) {
	for _, tc := range []struct {
		standing Standing
		role     Role
		want     bool
	}{
		{Owner, RoleGateway, true}, {Candidate, RoleGateway, false}, {Stale, RoleGateway, false},
		{Owner, RoleServe, true}, {Candidate, RoleServe, true}, {Stale, RoleServe, false},
	} {
		if got := tc.standing.MayDial(tc.role); got != tc.want {
			t.Errorf("%s %s: %v", tc.standing, tc.role, got)
		}
	}
}
