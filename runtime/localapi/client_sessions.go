package localapi

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// SessionFilter narrows a list of sessions.
type SessionFilter struct {
	// Source keeps one source; "" keeps all.
	Source string
	// Limit is the most sessions to return; 0 leaves it to the gateway.
	Limit int
	// Since keeps sessions with activity at or after that time.
	Since time.Time
	// Archived and Hidden include such sessions.
	Archived, Hidden bool
	// Page is the Next of the list before.
	Page string
}

// SearchFilter says what to look for.
type SearchFilter struct {
	// Query are the terms; Limit is the most hits, 0 leaves it to the gateway.
	Query string
	Limit int
	// Session, Role and Source keep one of them.
	Session, Role, Source string
	// Since and Until bound the time of a message.
	Since, Until time.Time
	// Substring finds parts of words only, newest first.
	Substring bool
}

// Sessions lists the sessions of a profile, newest activity first.
func (c *Client) Sessions(ctx context.Context, profile string, f SessionFilter) ([]SessionInfo, error) {
	list, err := c.ListSessions(ctx, profile, f)
	return list.Data, err
}

// ListSessions is Sessions with the way to the next page.
func (c *Client) ListSessions(ctx context.Context, profile string, f SessionFilter) (SessionList, error) {
	query := url.Values{}
	setText(query, map[string]string{"source": f.Source, "page": f.Page, "since": timeText(f.Since)})
	setNumber(query, "limit", f.Limit)
	setFlags(query, map[string]bool{"archived": f.Archived, "hidden": f.Hidden})
	var list SessionList
	err := c.call(ctx, profile, http.MethodGet, sessionsPath(profile)+"?"+query.Encode(), nil, &list)
	return list, err
}

// Session returns one session with its transcript. id may also be a title or the beginning of an id.
func (c *Client) Session(ctx context.Context, profile, id string) (SessionDetail, error) {
	var out SessionDetail
	err := c.call(ctx, profile, http.MethodGet, sessionPath(profile, id), nil, &out)
	return out, err
}

// SessionHead is Session without the transcript.
func (c *Client) SessionHead(ctx context.Context, profile, ref string) (SessionInfo, error) {
	var out SessionInfo
	err := c.call(ctx, profile, http.MethodGet, sessionPath(profile, ref)+"?transcript=false", nil, &out)
	return out, err
}

// Search finds messages.
func (c *Client) Search(ctx context.Context, profile string, f SearchFilter) (SearchList, error) {
	query := url.Values{}
	setText(query, map[string]string{
		"q": f.Query, "session": f.Session, "role": f.Role, "source": f.Source, "since": timeText(f.Since), "until": timeText(f.Until),
	})
	setNumber(query, "limit", f.Limit)
	setFlags(query, map[string]bool{"substring": f.Substring})
	var list SearchList
	err := c.call(ctx, profile, http.MethodGet, profilePath(profile)+"/search?"+query.Encode(), nil, &list)
	return list, err
}

// Rename gives a session a title and returns it as stored; "" takes the title away.
func (c *Client) Rename(ctx context.Context, profile, id, title string) (string, error) {
	out := Rename{}
	err := c.call(ctx, profile, http.MethodPatch, sessionPath(profile, id), Rename{Title: &title}, &out)
	if err != nil || out.Title == nil {
		return "", err
	}
	return *out.Title, nil
}

// Delete deletes a session and those that compression linked to it; force stops a turn that runs in it.
func (c *Client) Delete(ctx context.Context, profile, id string, force bool) (Deleted, error) {
	query := url.Values{}
	setFlags(query, map[string]bool{"force": force})
	var out Deleted
	err := c.call(ctx, profile, http.MethodDelete, sessionPath(profile, id)+"?"+query.Encode(), nil, &out)
	return out, err
}

// Export writes a session to w; format is jsonl or markdown. What was written before an error is not the whole.
func (c *Client) Export(ctx context.Context, profile, id, format string, w io.Writer) error {
	path := sessionPath(profile, id) + "/export?" + url.Values{"format": {format}}.Encode()
	resp, err := c.send(ctx, profile, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var from reader
	from.Reader = resp.Body
	if _, err := io.Copy(w, &from); err != nil {
		if from.err != nil {
			return c.broken(ctx, profile, from.err)
		}
		return err
	}
	return nil
}

// reader remembers that reading failed: what fails in a copy otherwise is the writer.
type reader struct {
	io.Reader
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF { // a reader's end is that very value
		r.err = err
	}
	return n, err
}

// Maintain runs optimize, optimize-storage or prune in the process that owns the store.
func (c *Client) Maintain(ctx context.Context, profile, action string, ask MaintenanceRequest) (MaintenanceResult, error) {
	var out MaintenanceResult
	err := c.call(ctx, profile, http.MethodPost, profilePath(profile)+"/store/"+url.PathEscape(action), ask, &out)
	return out, err
}

func setText(query url.Values, values map[string]string) {
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
}

func setNumber(query url.Values, name string, value int) {
	if value > 0 {
		query.Set(name, strconv.Itoa(value))
	}
}

func setFlags(query url.Values, values map[string]bool) {
	for name, on := range values {
		if on {
			query.Set(name, "true")
		}
	}
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
