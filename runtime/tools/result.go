package tools

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Error text caps in bytes, for the model and for the log (T5).
const (
	modelErrorCap = 2048
	logErrorCap   = 8192
)

// errorResult wraps a handler's error for the model.
//
// Implements T5.
func errorResult(err error) Result {
	// json.Marshal of a string map cannot fail.
	raw, _ := json.Marshal(map[string]string{"error": clip(sanitize(err.Error()), modelErrorCap)})
	return Result{Content: string(raw), IsError: true}
}

// framing are token sequences that chat templates treat as structure. Text
// that comes back from a tool must not be able to close a turn.
var framing = strings.NewReplacer("<|", "< |", "|>", "| >", "[INST]", "[ INST]", "[/INST]", "[ /INST]",
	"<tool_call>", "< tool_call>", "</tool_call>", "< /tool_call>",
	"<function_calls>", "< function_calls>", "</function_calls>", "< /function_calls>")

func sanitize(s string) string { return framing.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

// clip shortens s to at most max bytes without splitting a rune and says so.
func clip(s string, max int) string {
	const mark = "… (shortened)"
	if len(s) <= max {
		return s
	}
	cut := max - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// readable turns what a program wrote into text: a run of bytes that are no
// UTF-8, or of NUL, which some model providers refuse, becomes one U+FFFD.
func readable(b []byte) string {
	return string(bytes.ToValidUTF8(bytes.ReplaceAll(b, []byte{0}, []byte{0xff}), []byte("\uFFFD")))
}
