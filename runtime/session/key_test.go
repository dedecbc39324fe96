package session

import (
	"strings"
	"testing"
)

// The worked examples of R-65.
func TestKeyExamples(t *testing.T) {
	k1 := Source{Platform: "discord", ChatType: "dm", ChatID: "D9", UserID: "U1"}
	k4 := Source{Platform: "discord", ChatType: "group", ChatID: "C1", UserID: "U1", ScopeID: "G1"}
	k6 := k4
	k6.ProspectiveThreadID = "M7"
	k7 := Source{Platform: "discord", ChatType: "thread", ChatID: "C1", ThreadID: "M7", UserID: "U2"}
	tests := []struct {
		id      string
		source  Source
		options Options
		want    string
	}{
		{"K1", k1, Options{}, "agent:main:discord:dm:D9"},
		{"K2", Source{Platform: "discord", ChatType: "dm", UserID: "U1"}, Options{}, "agent:main:discord:dm:U1"},
		{"K3", Source{Platform: "discord", ChatType: "dm"}, Options{}, "agent:main:discord:dm"},
		{"K4", k4, Options{}, "agent:main:discord:group:C1:U1"},
		{"K5", k4, Options{SharedGroups: true}, "agent:main:discord:group:C1"},
		{"K6", k6, Options{}, "agent:main:discord:thread:C1:M7"},
		{"K7", k7, Options{}, "agent:main:discord:thread:C1:M7"},
		{"K8", Source{Platform: "discord", ChatType: "thread", ChatID: "C1", ThreadID: "T5", ProspectiveThreadID: "M7"}, Options{}, "agent:main:discord:thread:C1:T5"},
		{"K9", Source{Platform: "discord", ChatType: "thread", ChatID: "M7", ThreadID: "M7"}, Options{}, "agent:main:discord:thread:M7:M7"},
		{"K10", k7, Options{PerUserThreads: true}, "agent:main:discord:thread:C1:M7:U2"},
		{"K11", Source{Platform: "discord", ChatType: "dm", ChatID: "D9", ProspectiveThreadID: "M7"}, Options{}, "agent:main:discord:dm:D9"},
		{"K12", Source{Platform: "telegram", ChatType: "dm", ChatID: "555"}, Options{}, "agent:main:telegram:dm:555"},
		{"K13", Source{Platform: "telegram", ChatType: "group", ChatID: "-1001", UserID: "77"}, Options{}, "agent:main:telegram:group:-1001:77"},
		{"K14", Source{Platform: "telegram", ChatType: "forum", ChatID: "-1001", ThreadID: "12", UserID: "77"}, Options{}, "agent:main:telegram:forum:-1001:12"},
		{"K15", Source{Platform: "telegram", ChatType: "dm", ChatID: "555", ThreadID: "9"}, Options{}, "agent:main:telegram:dm:555:9"},
		{"K16", Source{Platform: "slack", ChatType: "dm", ChatID: "D1", ScopeID: "T1"}, Options{}, "agent:main:slack:dm:T1:D1"},
		{"K17", Source{Platform: "slack", ChatType: "dm", ChatID: "D1", ScopeID: "T1", ThreadID: "1700.0001"}, Options{}, "agent:main:slack:dm:T1:D1:1700.0001"},
		{"K18", Source{Platform: "slack", ChatType: "channel", ChatID: "C1", ScopeID: "T1", ThreadID: "1700.0002", UserID: "U1"}, Options{}, "agent:main:slack:channel:T1:C1:1700.0002"},
		{"K19", Source{Platform: "slack", ChatType: "channel", ChatID: "C1", ScopeID: "T1", UserID: "U1"}, Options{}, "agent:main:slack:channel:T1:C1:U1"},
		{"K20", Source{Platform: "signal", ChatType: "group", ChatID: "grp", UserID: "+1", UserIDAlt: "uuid-1"}, Options{}, "agent:main:signal:group:grp:uuid-1"},
		{"K21", k4, Options{Profile: "reviewer"}, "agent:reviewer:discord:group:C1:U1"},
		{"K22", k1, Options{Profile: "main"}, "agent:main~:discord:dm:D9"},
		{"K23", Source{Platform: "whatsapp", ChatType: "dm", ChatID: "+15551234567@s.whatsapp.net"}, Options{}, "agent:main:whatsapp:dm:15551234567"},
		{"K24", Source{Platform: "whatsapp", ChatType: "group", ChatID: "120@g.us", UserID: "1555:3@s.whatsapp.net"}, Options{}, "agent:main:whatsapp:group:120@g.us:1555"},
		{"K25", Source{Platform: "matrix", ChatType: "group", ChatID: "!r:hs", UserID: "@a:hs", ScopeID: "hs"}, Options{}, "agent:main:matrix:group:!r:hs:@a:hs"},
		{"K26", Source{Platform: "discord", ChatType: "channel", ChatID: "C1", UserID: "U1"}, Options{}, "agent:main:discord:channel:C1:U1"},
		{"K27", Source{Platform: "discord", ChatType: "group", ChatID: "C1"}, Options{}, "agent:main:discord:group:C1"},
		// everybody in a thread to come shares it; R-61 step 7 with both settings.
		{"prospective thread with per-user threads", k6, Options{PerUserThreads: true}, "agent:main:discord:thread:C1:M7:U1"},
		{"shared groups win over per-user threads", k7, Options{SharedGroups: true, PerUserThreads: true}, "agent:main:discord:thread:C1:M7"},
		{"dm without chat, with thread", Source{Platform: "telegram", ChatType: "dm", UserID: "U1", ThreadID: "9"}, Options{}, "agent:main:telegram:dm:U1:9"},
		{"profile of the source is not used", Source{Platform: "cli", ChatType: "dm", ChatID: "x", Profile: "bob"}, Options{}, "agent:main:cli:dm:x"},
		{"defaults", Source{ChatID: "x"}, Options{}, "agent:main:relay:dm:x"},
		{"profile default", k1, Options{Profile: "default"}, "agent:main:discord:dm:D9"},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			if got := Key(tt.source, tt.options); got != tt.want {
				t.Errorf("Key = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestKeyWhatsAppAliases(t *testing.T) {
	table := map[string][]string{"15551234567": {"+998877:1@lid", "112233@lid", "445566@lid", ""}}
	aliases := func(id string) []string { return table[id] }
	for id, want := range map[string]string{
		"+15551234567@s.whatsapp.net": "112233",
		"15551234567:7@lid":           "112233",
		" +15551234567 ":              "112233",
		"4711":                        "4711",
	} {
		dm := Key(Source{Platform: "whatsapp", ChatType: "dm", ChatID: id}, Options{Aliases: aliases})
		group := Key(Source{Platform: "whatsapp", ChatType: "group", ChatID: "120@g.us", UserID: id}, Options{Aliases: aliases})
		if dm != "agent:main:whatsapp:dm:"+want || group != "agent:main:whatsapp:group:120@g.us:"+want {
			t.Errorf("%q: %s and %s, want %s", id, dm, group, want)
		}
	}
}

// G-117: namespaces of different profiles never meet, and lead back.
func TestG117ProfileNamespaces(t *testing.T) {
	seen := map[string]string{}
	for _, profile := range []string{"default", "main", "alice", "agent", "mainframe"} {
		key := Key(Source{Platform: "discord", ChatID: "D9"}, Options{Profile: profile})
		if other, ok := seen[key]; ok {
			t.Errorf("profiles %s and %s share %s", profile, other, key)
		}
		seen[key] = profile
		if got, ok := ProfileOf(key); !ok || got != profile {
			t.Errorf("ProfileOf(%s) = %s, %v, want %s", key, got, ok, profile)
		}
	}
	for _, bad := range []string{"", "agent", "agent:main", "agent::x", "agent:main:", "user:main:discord"} {
		if got, ok := ProfileOf(bad); ok {
			t.Errorf("ProfileOf(%q) = %q", bad, got)
		}
	}
}

// Key never panics, keeps profiles apart, and ids without a colon apart.
func FuzzKey(f *testing.F) {
	f.Add("discord", "group", "C1", "C2", "U1", "T1", "M7", "alice", false, false)
	f.Add("whatsapp", "dm", "+1:2@x", "+1", "", "", "", "main", true, true)
	f.Add("slack", "channel", "", "x", "U", "", "P", "", false, true)
	f.Fuzz(func(t *testing.T, platform, chatType, chatA, chatB, user, thread, prospective, profile string, shared, perUser bool) {
		a := Source{Platform: platform, ChatType: chatType, ChatID: chatA, UserID: user, ThreadID: thread, ProspectiveThreadID: prospective}
		o := Options{Profile: profile, SharedGroups: shared, PerUserThreads: perUser}
		key := Key(a, o)
		if !strings.HasPrefix(key, Namespace(profile)+":") {
			t.Errorf("%q is outside %q", key, Namespace(profile))
		}
		if !strings.ContainsAny(profile, ":~") && profile != "" {
			if got, ok := ProfileOf(key); !ok || got != profile {
				t.Errorf("ProfileOf(%q) = %q, %v, want %q", key, got, ok, profile)
			}
			if Key(a, Options{Profile: profile + "x", SharedGroups: shared, PerUserThreads: perUser}) == key {
				t.Errorf("profile %q shares %q", profile, key)
			}
		}
		// a prospective thread changes nothing where there is a real one.
		if thread != "" {
			late := a
			late.ProspectiveThreadID = prospective + "x"
			if Key(late, o) != key {
				t.Errorf("a late stamp moved %q", key)
			}
		}
		if platform == platformWhatsApp || strings.Contains(chatA+chatB, ":") || chatA == "" || chatB == "" || chatA == chatB {
			return
		}
		b := a
		b.ChatID = chatB
		if Key(b, o) == key {
			t.Errorf("chats %q and %q share %q", chatA, chatB, key)
		}
	})
}
