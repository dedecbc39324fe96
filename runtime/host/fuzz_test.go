package host

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(validRecord))
	f.Add([]byte("\xef\xbb\xbf" + validRecord))
	f.Add([]byte(`{"role":"serve","pid":1e3,"port":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		record, ok := ParseRecord(data, "/r")
		if !ok {
			if !reflect.DeepEqual(record, Record{}) {
				t.Fatalf("refused and returned %+v", record)
			}
			return
		}
		if record.PID < 1 || !record.Role.Valid() || record.Home == "" || record.Profiles == nil {
			t.Fatalf("accepted %+v", record)
		}
		written, err := record.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, ok := ParseRecord(written, "/other")
		if !ok || !reflect.DeepEqual(again, record) {
			t.Fatalf("written and read again:\n%+v\n%+v", record, again)
		}
	})
}

func FuzzParsePIDRecord(f *testing.F) {
	f.Add([]byte(`{"kind":"hermes-gateway","pid":12,"argv":["a",1],"start_time":77,"hermes_home":"/h"}`))
	f.Add([]byte(`{"kind":"hermes-gateway","pid":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		record, ok := ParsePIDRecord(data)
		if !ok {
			return
		}
		if record.PID < 1 || record.Kind != Kind || record.StartTime < 0 {
			t.Fatalf("accepted %+v", record)
		}
		written, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		if again, ok := ParsePIDRecord(written); !ok || again.Process() != record.Process() || again.HermesHome != record.HermesHome {
			t.Fatalf("written and read again: %+v, %+v", record, again)
		}
	})
}

// Whatever a client sends, the reply is one line of JSON with its id, within the limit.
func FuzzControlRequest(f *testing.F) {
	for _, seed := range []string{`{"verb":"identify","id":7,"protocol":1}`, `{"verb":"nope"}`, `{"id":[1,{"a":"\u2028"}]}`, `x`, ``} {
		f.Add([]byte(seed))
	}
	s := &Server{cfg: ServerConfig{Handler: fakeGateway{}}, ctx: f.Context()}
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := readLine(bytes.NewReader(data), MaxRequestBytes)
		if err != nil {
			return
		}
		answer := encodeResponse(s.answer(line))
		if len(answer) > MaxResponseBytes+1 || bytes.IndexByte(answer, '\n') != len(answer)-1 {
			t.Fatalf("answer is not one line: %q", answer)
		}
		fields, ok := parseObject(answer)
		if !ok || fields["id"] == nil || fields["ok"] == nil {
			t.Fatalf("answer %q", answer)
		}
		var identity Identity
		_ = parseResponse(answer, &identity)
	})
}

// The client side never panics and never takes a damaged answer for a gateway without a pid.
func FuzzControlResponse(f *testing.F) {
	f.Add([]byte(`{"ok":true,"result":{"kind":"hermes-gateway","pid":3,"served_profiles":[{"home":"/r/profiles/x"}]}}`))
	f.Add([]byte(`{"ok":true,"result":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var identity Identity
		if parseResponse(data, &identity) == nil && identity.WellFormed() && identity.PID < 1 {
			t.Fatalf("%q identifies %+v", data, identity)
		}
		_ = identity.Served()
		_ = parseResponse(data, &Status{})
		_ = parseResponse(data, &Rescan{})
		_ = parseResponse(data, &DrainState{})
	})
}

func FuzzStartLog(f *testing.F) {
	f.Add("1699999999.25\ngarbage\nNaN\n")
	f.Add(strings.Repeat("1700000000\n", 100))
	f.Fuzz(func(t *testing.T, data string) {
		now := time.Unix(1_700_000_000, 0)
		starts := parseStartLog([]byte(data))
		if delay := StormDelay(starts, now, stormLimit); delay < 0 || delay > 300*time.Second {
			t.Fatalf("delay %s", delay)
		}
		if again := parseStartLog(formatStartLog(starts)); len(again) != len(starts) {
			t.Fatalf("%d starts written, %d read", len(starts), len(again))
		}
	})
}
