package compaction

import (
	"regexp"
	"strconv"
	"strings"
)

// statedLimits are the ways servers word the window in the refusal of a request that exceeds it.
func statedLimits() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(?:maximum|max)\s+(?:context|prompt|input|sequence|model)?\s*(?:context\s+)?(?:length|window|size|len)?\s*(?:is|of|:|=)\s*([\d,_]{4,12})`),
		regexp.MustCompile(`(?i)context\s+(?:window|length|size)\s*(?:is|of|:|=|\()\s*([\d,_]{4,12})`),
		regexp.MustCompile(`(?i)context\s+(?:window|length|size)\s+\(?([\d,_]{4,12})\s+tokens`),
		regexp.MustCompile(`(?i)tokens?\s*>\s*([\d,_]{4,12})\s*(?:maximum|max|limit)`),
		regexp.MustCompile(`(?i)n_ctx["']?\s*[:=]\s*([\d,_]{4,12})`),
		regexp.MustCompile(`(?i)limit(?:ed)?\s+(?:of|to|is)\s+([\d,_]{4,12})\s+(?:input\s+)?tokens`),
	}
}

// The windows that are believed, in tokens.
const leastWindow, mostWindow = 1_024, 20_000_000

// StatedWindow finds the model's window in a server's refusal; 0 when it does not say.
func StatedWindow(message string) int64 {
	for _, form := range statedLimits() {
		m := form.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.NewReplacer(",", "", "_", "").Replace(m[1]), 10, 64)
		if err == nil && n >= leastWindow && n <= mostWindow {
			return n
		}
	}
	return 0
}
