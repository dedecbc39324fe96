package chat

import (
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
}

func (r *renderer) handle(i localapi.StreamItem) {
	switch {
	case i.Event != nil:
		r.event(*i.Event)
	case i.Text != "":
		r.segment.WriteString(i.Text)
		if r.live {
			fmt.Fprint(r.out, visible(i.Text))
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
		took := (time.Duration(e.Millis) * time.Millisecond).String()
		if e.IsError {
			r.note("✗ %s after %s: %s", visible(e.Tool), took, brief(e.Result, maxNote))
		} else {
			r.note("✓ %s in %s", visible(e.Tool), took)
		}
	case "retry":
		r.retry(e)
	}
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
		fmt.Fprintln(r.out, visible(reply))
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

func (r *renderer) newline() {
	if r.shown {
		fmt.Fprintln(r.out)
		r.shown = false
	}
}
