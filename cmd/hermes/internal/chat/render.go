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

// Display shows one turn as it happens. Its methods are called by the goroutine of the turn.
type Display interface {
	// Handle shows one piece of the turn.
	Handle(localapi.StreamItem)
	// Note shows a line apart from the reply. It is harmless already.
	Note(line string)
	// Break gets ready for a question below what was shown.
	Break()
	// End closes the turn: the reply is final, or err says why there is none.
	End(reply string, err error)
}

// renderer is the Display that only ever adds to the end. Where a person reads along, text is shown as it comes. Where a program reads, nothing is
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

// Handle implements Display.
func (r *renderer) Handle(i localapi.StreamItem) {
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
	said := r.segment.Len() > 0 && r.live
	switch e.Type {
	case "tool_start":
		if text := strings.TrimSpace(r.segment.String()); text != "" && !r.live {
			r.Note(visible(text))
		}
		r.segment.Reset()
	case "retry":
		r.segment.Reset()
	}
	if note := EventNote(e, said); note != "" {
		r.Note(note)
	}
}

// EventNote words an event in one harmless line, "" when there is nothing to say of it. said tells whether a person has
// seen text of the attempt.
func EventNote(e localapi.Event, said bool) string {
	switch e.Type {
	case "tool_start":
		return fmt.Sprintf("• %s %s", visible(e.Tool), brief(e.Summary, maxNote))
	case "tool_end":
		if e.IsError {
			return fmt.Sprintf("✗ %s after %s: %s", visible(e.Tool), tookText(e.Millis), brief(errorText(e.Result), maxNote))
		}
		return fmt.Sprintf("✓ %s in %s", visible(e.Tool), tookText(e.Millis))
	case "steer":
		return "› " + brief(e.Summary, maxNote)
	case "compacted":
		if e.Compacted != nil {
			return "• " + compactedText(*e.Compacted)
		}
	case "retry":
		return retryText(e, said)
	case "fallback":
		return "! " + brief(e.Summary, maxNote)
	}
	return ""
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

// retryText says that the attempt shown so far is void.
func retryText(e localapi.Event, said bool) string {
	void := ""
	if said {
		void = "; what it said is void"
	}
	next := "trying again"
	if e.Millis > 0 {
		next = "trying again in " + (time.Duration(e.Millis) * time.Millisecond).Round(100*time.Millisecond).String()
	}
	return fmt.Sprintf("! the model broke off (%s)%s, %s", brief(e.Summary, maxNote), void, next)
}

// End implements Display.
func (r *renderer) End(reply string, err error) {
	switch {
	case err != nil:
	case !r.live:
		fmt.Fprintln(r.out, strings.TrimSuffix(reply, "\n"))
	case r.segment.Len() == 0 && reply != "":
		r.print(visible(reply) + "\n")
	}
	r.Break()
}

// Note implements Display.
func (r *renderer) Note(line string) {
	r.Break()
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

// Break implements Display.
func (r *renderer) Break() {
	if r.wrap != nil {
		fmt.Fprint(r.out, r.wrap.flush())
	}
	if r.shown {
		fmt.Fprintln(r.out)
		r.shown = false
	}
}
