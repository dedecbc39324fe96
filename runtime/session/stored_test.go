package session

import (
	"reflect"
	"strings"
	"testing"
)

// everything but the trust flag comes back.
func TestR66StoredSourceRoundTrip(t *testing.T) {
	full := Source{}
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("v:" + v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		default:
			t.Fatalf("field %s has a kind this test does not fill", v.Type().Field(i).Name)
		}
	}
	raw, err := EncodeStored(full)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "upstream") {
		t.Errorf("the trust flag is stored: %s", raw)
	}
	got, err := DecodeStored(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := full
	want.DeliveredViaUpstreamRelay = false
	if got != want {
		t.Errorf("came back as\n%+v, want\n%+v", got, want)
	}
	raw, err = EncodeStored(Source{Platform: "cli", ChatID: "x", ChatType: "dm"})
	if err != nil || string(raw) != `{"platform":"cli","chat_id":"x","chat_type":"dm"}` {
		t.Errorf("what is not set is stored: %s, %v", raw, err)
	}
}

func TestR66OldRows(t *testing.T) {
	tests := []struct {
		raw  string
		want Source
	}{
		{`{"platform":"discord","guild_id":"G1"}`, Source{Platform: "discord", ScopeID: "G1"}},
		{`{"scope_id":null,"guild_id":"G1"}`, Source{ScopeID: "G1"}},
		{`{"scope_id":"S1","guild_id":"G1"}`, Source{ScopeID: "S1"}},
		{`{"chat_id":-1001234567890123456789,"user_id":77}`, Source{ChatID: "-1001234567890123456789", UserID: "77"}},
		{`{"thread_id":null,"is_bot":null,"unknown":[1]}`, Source{}},
		{`{"delivered_via_upstream_relay":true,"DeliveredViaUpstreamRelay":true}`, Source{}},
	}
	for _, tt := range tests {
		if got, err := DecodeStored([]byte(tt.raw)); err != nil || got != tt.want {
			t.Errorf("%s = %+v, %v, want %+v", tt.raw, got, err, tt.want)
		}
	}
	for _, bad := range []string{``, `[]`, `{"chat_id":{}}`, `{"is_bot":"yes"}`, `{"guild_id":[]}`} {
		if _, err := DecodeStored([]byte(bad)); err == nil || !strings.Contains(err.Error(), "stored session source") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzDecodeStored(f *testing.F) {
	f.Add([]byte(`{"platform":"discord","guild_id":"G1","chat_id":12}`))
	f.Add([]byte(`{"chat_id":-0.5e9}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := DecodeStored(raw)
		if err != nil {
			return
		}
		again, err := EncodeStored(s)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeStored(again); err != nil || back != s {
			t.Errorf("%s became %+v and then %+v, %v", raw, s, back, err)
		}
	})
}
