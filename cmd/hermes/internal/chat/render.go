package chat

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/localapi"
)

// maxNote is how many characters of a tool's arguments or of a cause are shown.
const maxNote = 160

// renderer shows one turn. Where a person reads along, text is shown as it comes. Where a program reads, nothing is
// said before the reply is final: an attempt that broke off cannot be taken back from a pipe.
type renderer struct {
	out, notes io.Writer
	live       bool
	color      bool
	// segment is the text since the last tool call or retry.
	segment strings.Builder
	shown   bool // the cursor stands behind text of this turn
	wrap    *wrapper
}

func (r *renderer) handle(i localapi.StreamItem) {
	switch {
	case i.Event != nil:
		r.event(*i.Event)
	case i.Text != "":
		r.segment.WriteString(i.Text)
		if r.live {
			r.print(visible(i.Text))
			r.shown = !strings.HasSuffix(i.Text, "\n")
		}
	}
}

func (r *renderer) event(e localapi.Event) {
	switch e.Type {
	case "tool_start":
		if text := strings.TrimSpace(r.segment.String()); text != "" && !r.live {
			r.note("%s", visible(text))
		}
		r.segment.Reset()
		r.note("• %s %s", visible(e.Tool), brief(e.Summary, maxNote))
	case "tool_end":
		took := tookText(e.Millis)
		if e.IsError {
			r.note("✗ %s after %s: %s", visible(e.Tool), took, brief(errorText(e.Result), maxNote))
		} else {
			r.note("✓ %s in %s", visible(e.Tool), took)
		}
	case "steer":
		r.note("› %s", brief(e.Summary, maxNote))
	case "compacted":
		if e.Compacted != nil {
			r.note("• %s", compactedText(*e.Compacted))
		}
	case "retry":
		r.retry(e)
	case "fallback":
		r.note("! %s", brief(e.Summary, maxNote))
	}
}

// tookText words how long a tool ran.
func tookText(millis int64) string {
	switch {
	case millis < 1:
		return "<1ms"
	case millis < 1000:
		return fmt.Sprintf("%dms", millis)
	default:
		return (time.Duration(millis) * time.Millisecond).Round(100 * time.Millisecond).String()
	}
}

// errorText is what an error result says to a person; the model gets it as a JSON object.
func errorText(result string) string {
	var e struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(result), &e); err != nil || e.Error == "" {
		return result
	}
	return e.Error
}

// retry says that the attempt shown so far is void.
func (r *renderer) retry(e localapi.Event) {
	void := ""
	if r.segment.Len() > 0 && r.live {
		void = "; what it said is void"
	}
	r.segment.Reset()
	next := "trying again"
	if e.Millis > 0 {
		next = "trying again in " + (time.Duration(e.Millis) * time.Millisecond).Round(100*time.Millisecond).String()
	}
	r.note("! the model broke off (%s)%s, %s", brief(e.Summary, maxNote), void, next)
}

// end closes the turn: the reply is final, or there was none.
func (r *renderer) end(reply string, err error) {
	switch {
	case err != nil:
	case !r.live:
		fmt.Fprintln(r.out, strings.TrimSuffix(reply, "\n"))
	case r.segment.Len() == 0 && reply != "":
		r.print(visible(reply) + "\n")
	}
	r.newline()
}

// note writes one line about what happens, apart from the reply.
func (r *renderer) note(format string, args ...any) {
	r.newline()
	line := fmt.Sprintf(format, args...)
	if r.color {
		line = "\x1b[2m" + line + "\x1b[0m"
	}
	fmt.Fprintln(r.notes, line)
}

// print shows a piece of the reply, broken between words where the terminal ends.
func (r *renderer) print(text string) {
	if r.wrap != nil {
		text = r.wrap.add(text)
	}
	fmt.Fprint(r.out, text)
}

func (r *renderer) newline() {
	if r.wrap != nil {
		fmt.Fprint(r.out, r.wrap.flush())
	}
	if r.shown {
		fmt.Fprintln(r.out)
		r.shown = false
	}
}
