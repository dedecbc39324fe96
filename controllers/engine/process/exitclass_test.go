package process

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
)

// G5: exit classes and the reasons they become.
func TestClassify_G5(t *testing.T) {
	ours := &refusal{Reason: v1alpha1.ReasonHomeUnwritable, Message: "m"}
	mute := &refusal{Message: "m"}
	elsewhere := &refusal{Reason: v1alpha1.ReasonHostOwnedElsewhere, Message: "m"}
	for name, c := range map[string]struct {
		facts  exitFacts
		class  exitClass
		reason string
	}{
		"78":                          {exitFacts{Known: true, Code: 78}, exitConfiguration, v1alpha1.ReasonConfigurationRefused},
		"78 with reason":              {exitFacts{Known: true, Code: 78, Refusal: ours}, exitConfiguration, v1alpha1.ReasonHomeUnwritable},
		"78 with unknown reason":      {exitFacts{Known: true, Code: 78, Refusal: mute}, exitConfiguration, v1alpha1.ReasonConfigurationRefused},
		"75":                          {exitFacts{Known: true, Code: 75}, exitTransient, v1alpha1.ReasonCrashLoop},
		"75 with reason":              {exitFacts{Known: true, Code: 75, Refusal: elsewhere}, exitTransient, v1alpha1.ReasonHostOwnedElsewhere},
		"1":                           {exitFacts{Known: true, Code: 1}, exitCrash, v1alpha1.ReasonCrashLoop},
		"1 with a refusal line":       {exitFacts{Known: true, Code: 1, Refusal: ours}, exitCrash, v1alpha1.ReasonCrashLoop},
		"0 unasked":                   {exitFacts{Known: true}, exitCrash, v1alpha1.ReasonCrashLoop},
		"SIGSEGV":                     {exitFacts{Known: true, Signal: syscall.SIGSEGV}, exitCrash, v1alpha1.ReasonCrashLoop},
		"SIGKILL alone":               {exitFacts{Known: true, Signal: syscall.SIGKILL}, exitCrash, v1alpha1.ReasonCrashLoop},
		"SIGKILL with evidence":       {exitFacts{Known: true, Signal: syscall.SIGKILL, OOMKilled: true}, exitOutOfMemory, v1alpha1.ReasonOutOfMemory},
		"1 while others were killed":  {exitFacts{Known: true, Code: 1, OOMKilled: true}, exitCrash, v1alpha1.ReasonCrashLoop},
		"2 out of memory":             {exitFacts{Known: true, Code: 2, OOMLogged: true}, exitOutOfMemory, v1alpha1.ReasonOutOfMemory},
		"0 with the words in its log": {exitFacts{Known: true, OOMLogged: true}, exitCrash, v1alpha1.ReasonCrashLoop},
		"unknown":                     {exitFacts{}, exitCrash, v1alpha1.ReasonCrashLoop},
		"unknown with refusal":        {exitFacts{Refusal: ours}, exitConfiguration, v1alpha1.ReasonHomeUnwritable},
		"unknown, owned elsewhere":    {exitFacts{Refusal: elsewhere}, exitTransient, v1alpha1.ReasonHostOwnedElsewhere},
		"asked":                       {exitFacts{Known: true, Asked: true, Signal: syscall.SIGKILL, OOMKilled: true}, exitAsked, v1alpha1.ReasonCrashLoop},
		"not responding":              {exitFacts{Known: true, Asked: true, Unresponsive: true}, exitNotResponding, v1alpha1.ReasonNotResponding},
	} {
		t.Run(name, func(t *testing.T) {
			class := classify(c.facts)
			if class != c.class {
				t.Fatalf("class = %s, want %s", class, c.class)
			}
			if got := exitReason(class, c.facts.Refusal); got != c.reason {
				t.Errorf("reason = %s, want %s", got, c.reason)
			}
			if message := exitMessage(class, c.facts, lastWords{}, "/log"); message == "" {
				t.Error("no message")
			}
		})
	}
}

// G4: the pauses, as a table.
func TestBackoff_G4(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		-1: time.Second, 0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 256 * time.Second,
		10: 5 * time.Minute, 11: 5 * time.Minute, 1_000_000: 5 * time.Minute,
	} {
		if got := backoff(failures, 0); got != want {
			t.Errorf("backoff(%d, 0) = %s, want %s", failures, got, want)
		}
		if got := backoff(failures, 0.999999); got < want*79/100 || got >= want {
			t.Errorf("backoff(%d, 0.99) = %s, want a fifth less than %s", failures, got, want)
		}
	}
	if got := failuresAfter(7, healthyAfter-1); got != 8 {
		t.Errorf("failures after a short run = %d", got)
	}
	if got := failuresAfter(7, healthyAfter); got != 1 {
		t.Errorf("failures after a healthy run = %d", got)
	}
}

func TestParseRefusal_G5(t *testing.T) {
	for line, want := range map[string]*refusal{
		"hermes-refusal: HomeNotOurs: /h holds: a home": {v1alpha1.ReasonHomeNotOurs, "/h holds: a home"},
		"hermes-refusal: Nonsense: text":                {"", "Nonsense: text"},
		"hermes-refusal: Ready: text":                   {"", "Ready: text"},
		"hermes-refusal: no reason":                     {"", "no reason"},
		"  hermes-refusal: HomeUnwritable:x\r\n":        {v1alpha1.ReasonHomeUnwritable, "x"},
		"refusal: HomeUnwritable: x":                    nil,
		"":                                              nil,
	} {
		got, ok := parseRefusal(line)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("parseRefusal(%q) = %+v, %v", line, got, ok)
		}
	}
}

// Whatever a gateway writes, a message is one bounded printable line and a reason is one that is documented.
func FuzzLastWords(f *testing.F) {
	f.Add([]byte("hermes-refusal: HomeNotOurs: x\n"))
	f.Add([]byte("panic: a\n\ngoroutine 1 [running]:\nmain.main()\n"))
	f.Add([]byte("\x00\xff\x1b[31mred\nfatal error: runtime: out of memory"))
	f.Fuzz(func(t *testing.T, data []byte) {
		words := parseLastWords(data)
		texts := []string{words.Quote}
		if r := words.Refusal; r != nil {
			texts = append(texts, r.Message)
			if r.Reason != "" && !refusable(r.Reason) {
				t.Errorf("reason %q", r.Reason)
			}
		}
		for _, text := range texts {
			if strings.ContainsAny(text, "\n\r\x00\x1b") || len([]rune(text)) > maxQuoted*(maxLine+4) {
				t.Errorf("unfit for a message: %q", text)
			}
		}
	})
}

func FuzzParseIntent(f *testing.F) {
	f.Add([]byte(`{"version":1,"desired":{"state":"Running"},"observed":{"run":{"id":"a"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if in, err := parseIntent(data); err == nil && in.Seen.Run != nil && in.Seen.Run.ID == "" {
			t.Error("a run without id")
		}
	})
}
