package sessions

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/store"
)

// titleWidth is how much of a title or of what was said first a table shows.
const titleWidth = 50

// List writes a table of sessions. Times are local.
func List(w io.Writer, sessions []localapi.SessionInfo, wide bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	header := "ID\tLAST ACTIVITY\tSOURCE\tMESSAGES\tTITLE"
	if wide {
		header = "ID\tLAST ACTIVITY\tSTARTED\tENDED\tSOURCE\tMODEL\tMESSAGES\tTOKENS IN\tTOKENS OUT\tTITLE"
	}
	fmt.Fprintln(t, header)
	for _, s := range sessions {
		row := []string{safetext.Visible(s.ID), local(s.LastActivityAt), safetext.Visible(s.Source), fmt.Sprint(s.Messages), Name(s)}
		if wide {
			ended := "-"
			if s.EndedAt != nil {
				ended = local(*s.EndedAt)
			}
			row = []string{
				row[0], row[1], local(s.StartedAt), ended, row[2], dash(safetext.Visible(s.Model)), row[3],
				fmt.Sprint(s.InputTokens), fmt.Sprint(s.OutputTokens), row[4],
			}
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// Name is the title of a session, else the beginning of what was said first.
func Name(s localapi.SessionInfo) string {
	if s.Title != "" {
		return safetext.Brief(s.Title, titleWidth)
	}
	return dash(safetext.Brief(s.Preview, titleWidth))
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func local(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// Show writes one session for reading.
func Show(w io.Writer, s localapi.SessionDetail) error {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Session", s.ID}, {"Title", s.Title}, {"Source", s.Source}, {"Model", s.Model}, {"Started", local(s.StartedAt)},
		{"Activity", local(s.LastActivityAt)}, {"Messages", fmt.Sprint(s.Messages)},
		{"Tokens", fmt.Sprintf("%d in, %d out", s.InputTokens, s.OutputTokens)},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s%s\n", line[0]+":", safetext.Visible(line[1]))
		}
	}
	if s.EndedAt != nil {
		fmt.Fprintf(&b, "%-10s%s\n", "Ended:", local(*s.EndedAt))
	}
	if s.Unfinished {
		fmt.Fprintf(&b, "%-10sthe last turn was not finished: hermes chat --session %s --resume finishes it\n", "Note:", safetext.Visible(s.ID))
	}
	writeDelegations(&b, s.Delegations)
	for _, row := range s.Transcript {
		who := row.Role
		if row.Display != "" {
			who = row.Display
		}
		if row.ToolName != "" {
			who += " " + row.ToolName
		}
		fmt.Fprintf(&b, "\n[%s] %s\n", local(row.At), safetext.Visible(who))
		if text := strings.TrimSpace(row.Content); text != "" {
			b.WriteString(safetext.Visible(text) + "\n")
		}
		if len(row.ToolCalls) > 0 {
			b.WriteString("calls " + safetext.Visible(string(row.ToolCalls)) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Hits writes a table of what a search found; on a terminal with colours matches are bold, else they stand between
// [ and ].
func Hits(w io.Writer, hits []localapi.SearchHit, bold, wide bool) error {
	open, shut := "[", "]"
	if bold {
		open, shut = "\x1b[1m", "\x1b[0m"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	header := "WHEN\tSESSION\tROLE\tTEXT"
	if wide {
		header = "WHEN\tSESSION\tTITLE\tSOURCE\tROLE\tMESSAGE\tTEXT"
	}
	fmt.Fprintln(t, header)
	for _, h := range hits {
		text := strings.Join(strings.Fields(h.Snippet), " ")
		text = strings.NewReplacer(store.MatchStart, open, store.MatchEnd, shut).Replace(safetext.Visible(text))
		if wide {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", local(h.At), safetext.Visible(h.Session), dash(safetext.Brief(h.Title, 30)),
				safetext.Visible(h.Source), safetext.Visible(h.Role), h.Message, text)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", local(h.At), safetext.Visible(h.Session), safetext.Visible(h.Role), text)
	}
	return t.Flush()
}

// Maintained says in lines what a maintenance did, or would do.
func Maintained(w io.Writer, action string, r localapi.MaintenanceResult) error {
	var b strings.Builder
	did := "did not rewrite the file: less than a quarter of it is unused"
	switch {
	case r.DryRun && action == "optimize-storage":
		fmt.Fprintf(&b, "would bring the search index from layout %s to layout %s, with %d messages to index, and rewrite the file\n",
			dash(r.IndexVersion), store.IndexLayout, r.IndexMissing)
		fmt.Fprintf(&b, "the file has %s, of which %s are unused\n", size(r.SizeBytes), size(r.FreeBytes))
	case r.DryRun:
		verdict := "would merge the search index and leave the file as it is"
		if r.Vacuumed {
			verdict = "would merge the search index and rewrite the file"
		}
		fmt.Fprintf(&b, "%s: it has %s, of which %s are unused\n", verdict, size(r.SizeBytes), size(r.FreeBytes))
	default:
		if action == "optimize-storage" {
			fmt.Fprintf(&b, "search index: %d messages indexed\n", r.Indexed)
		}
		if r.Vacuumed {
			did = "rewrote the file"
		}
		fmt.Fprintf(&b, "merged the search index, %s: %s before, %s now\n", did, size(r.SizeBytes), size(r.SizeAfterBytes))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%d KiB", (n+1023)/1024)
	}
}

// Count is a number of things, in words: 1 session, 2 sessions.
func Count(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
