package localapi

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
)

// prepared is a request that was checked.
type prepared struct {
	profile Profile
	name    string
	turn    agent.Turn
	// history begins the session, if it is new, of a client that keeps its own.
	history []store.Message
	stream  bool
	events  bool
	usage   bool
}

// completions runs one turn and answers as OpenAI's chat completions do.
func (h *handler) completions(w http.ResponseWriter, r *http.Request) {
	var req CompletionRequest
	if err := decode(w, r, &req); err != nil {
		writeError(w, err)
		return
	}
	p, apiErr := h.prepare(r, req)
	if apiErr != nil {
		writeError(w, apiErr)
		return
	}
	w.Header().Set(SessionHeader, p.turn.SessionID)
	if len(p.history) > 0 {
		s := store.Session{ID: p.turn.SessionID, Source: p.turn.Source}
		if err := p.profile.Seed(r.Context(), s, p.history); err != nil {
			writeError(w, toError(err, h.now()))
			return
		}
	}
	if p.stream {
		h.streamTurn(w, r, p)
		return
	}
	h.wholeTurn(r.Context(), w, p)
}

// prepare checks a request and finds its profile and session.
func (h *handler) prepare(r *http.Request, req CompletionRequest) (prepared, *Error) {
	profile, ok := h.backend.Profile(req.Model)
	if !ok {
		if req.Model == "" {
			return prepared{}, badRequest("model is missing: name the profile that should answer")
		}
		return prepared{}, h.noProfile(req.Model)
	}
	ext := Extension{}
	if req.Hermes != nil {
		ext = *req.Hermes
	}
	if ext.Session == "" {
		ext.Session = r.Header.Get(SessionHeader)
	}
	if ext.Source == "" {
		ext.Source = "api"
	}
	if apiErr := checkExtension(req, ext); apiErr != nil {
		return prepared{}, apiErr
	}
	p := prepared{
		profile: profile, name: req.Model, stream: req.Stream, events: ext.Events && req.Stream,
		usage: req.StreamOptions != nil && req.StreamOptions.IncludeUsage,
		turn:  agent.Turn{SessionID: ext.Session, Source: ext.Source, Resume: ext.Resume, Retry: ext.Retry},
	}
	if ext.Session != "" {
		if apiErr := h.checkSession(r.Context(), profile, ext.Session); apiErr != nil {
			return prepared{}, apiErr
		}
	}
	if ext.Resume || ext.Retry {
		if ext.Session == "" {
			return prepared{}, badRequest("resume and retry need hermes.session: name the session to go on with")
		}
		return p, nil
	}
	text, history, apiErr := split(req.Messages)
	if apiErr != nil {
		return prepared{}, apiErr
	}
	// With a session that exists already the history is left alone.
	p.turn.UserText, p.history = text, history
	p.turn.TitleFrom = string(req.Messages[len(req.Messages)-1].Content) // without the instructions of a program
	if ext.Session == "" {
		id, err := session.NewID(h.now(), rand.Reader)
		if err != nil {
			return prepared{}, toError(err, h.now())
		}
		p.turn.SessionID = id
	}
	return p, nil
}

// checkSession refuses a session that is not there. A client may choose the id of a new one, so that it can interrupt
// it before the first answer, but only in our own form: a name that was mistyped must not begin a session silently.
func (h *handler) checkSession(ctx context.Context, p Profile, id string) *Error {
	if _, err := session.ParseID(id); err == nil {
		return nil
	}
	_, _, found, err := p.Session(ctx, id)
	switch {
	case err != nil:
		return toError(err, h.now())
	case !found:
		return notFound("session_not_found", "there is no session %q: leave the session out to begin one", id)
	}
	return nil
}

// maxNameBytes bounds a session id and a source.
const maxNameBytes = 128

// checkExtension refuses what would make a session that nobody can name again.
func checkExtension(req CompletionRequest, ext Extension) *Error {
	switch {
	case req.N != nil && *req.N != 1:
		return badRequest("n must be 1: a turn has one reply")
	case !printable(ext.Session):
		return badRequest("hermes.session must be at most %d printable characters without spaces", maxNameBytes)
	case !printable(ext.Source):
		return badRequest("hermes.source must be at most %d printable characters without spaces", maxNameBytes)
	}
	return nil
}

func printable(s string) bool {
	return len(s) <= maxNameBytes && utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) < 0
}

// split takes what the user says now from the messages and turns the earlier ones
// into the beginning of a session. Instructions of the client go in front of the
// first thing the user said, because the system prompt is the profile's own.
func split(messages []RequestMessage) (text string, history []store.Message, _ *Error) {
	if len(messages) == 0 {
		return "", nil, badRequest("messages is empty: the last one must be what the user says")
	}
	last := messages[len(messages)-1]
	if last.Role != "user" || strings.TrimSpace(string(last.Content)) == "" {
		return "", nil, badRequest("the last message must have role user and some text")
	}
	var instructions []string
	for _, m := range messages[:len(messages)-1] {
		switch m.Role {
		case "system", "developer":
			instructions = append(instructions, string(m.Content))
		case "user", "assistant":
			history = append(history, store.Message{Role: m.Role, Content: string(m.Content)})
		default:
			return "", nil, badRequest("a message of role %q cannot begin a session: send user and assistant messages", m.Role)
		}
	}
	text = string(last.Content)
	if len(instructions) == 0 {
		return text, history, nil
	}
	preface := "Instructions of the calling program:\n" + strings.Join(instructions, "\n\n") + "\n\n"
	for i := range history {
		if history[i].Role == "user" {
			history[i].Content = preface + history[i].Content
			return text, history, nil
		}
	}
	return preface + text, history, nil
}

// wholeTurn answers once the turn is over. Nobody can be asked for approval.
func (h *handler) wholeTurn(ctx context.Context, w http.ResponseWriter, p prepared) {
	res, err := p.profile.Turn(ctx, p.turn, func(agent.Event) {})
	if err != nil {
		writeError(w, toError(err, h.now()))
		return
	}
	reason := finishReason(res)
	writeJSON(w, http.StatusOK, Completion{
		ID: completionID(res.SessionID), Object: "chat.completion", Created: h.now().Unix(), Model: p.name,
		Choices: []Choice{{Message: &Reply{Role: "assistant", Content: res.Reply}, FinishReason: &reason}},
		Usage:   usageOf(res), Hermes: infoOf(res),
	})
}

func completionID(session string) string { return "chatcmpl-" + session }

func finishReason(res agent.Result) string {
	if res.FinishReason == "" {
		return "stop"
	}
	return res.FinishReason
}

func usageOf(res agent.Result) *Usage {
	return &Usage{PromptTokens: res.Usage.Input, CompletionTokens: res.Usage.Output, TotalTokens: res.Usage.Input + res.Usage.Output}
}

func infoOf(res agent.Result) *CompletionInfo {
	return &CompletionInfo{
		Session: res.SessionID, Model: res.Model, ModelCalls: res.ModelCalls, ToolCalls: res.ToolCalls, PendingSteer: res.PendingSteer,
	}
}
