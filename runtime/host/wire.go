package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The control protocol: one request line, one response line, then the connection closes.
const (
	// ControlProtocol is the protocol version both sides write.
	ControlProtocol = 1
	// MaxRequestBytes and MaxResponseBytes bound a line, its newline not counted.
	MaxRequestBytes  = 64 << 10
	MaxResponseBytes = 512 << 10
	// RequestTimeout bounds how long a server waits for a request line and how long a client waits for an answer.
	RequestTimeout = 2 * time.Second
	// RescanTimeout is how long a client waits for rescan-profiles, which reconciles before it answers.
	RescanTimeout = 8 * time.Second
)

// Verb names one request of the control socket.
type Verb string

// The verbs this package serves.
const (
	VerbIdentify       Verb = "identify"
	VerbStatus         Verb = "status"
	VerbRescanProfiles Verb = "rescan-profiles"
	VerbDrain          Verb = "drain"
	// VerbServeProfile and VerbUnserveProfile name a profile; only a [ProfileHandler] serves them.
	VerbServeProfile   Verb = "serve-profile"
	VerbUnserveProfile Verb = "unserve-profile"
)

// SupportedVerbs lists the verbs that every gateway serves, sorted.
func SupportedVerbs() []Verb {
	verbs := []Verb{VerbIdentify, VerbStatus, VerbRescanProfiles, VerbDrain}
	slices.Sort(verbs)
	return verbs
}

type request struct {
	Verb     Verb            `json:"verb"`
	ID       json.RawMessage `json:"id"`
	Protocol int             `json:"protocol"`
	// Profile is what serve-profile and unserve-profile are about.
	Profile string `json:"profile,omitempty"`
}

type response struct {
	OK             bool            `json:"ok"`
	Protocol       int             `json:"protocol"`
	Result         any             `json:"result,omitempty"`
	Error          string          `json:"error,omitempty"`
	SupportedVerbs []Verb          `json:"supported_verbs,omitempty"`
	ID             json.RawMessage `json:"id"`
}

// jsonNull is the id of a response whose request carried none.
const jsonNull = "null"

// parseRequest reads a request line. The id is returned even when the request is not usable, so that the error can be
// matched to it.
// Implements G-242.
func parseRequest(line []byte) (verb Verb, id json.RawMessage, err error) {
	fields, ok := parseObject(line)
	if !ok {
		return "", json.RawMessage(jsonNull), errors.New(`request is not a JSON object: send {"verb": "identify"} on one line`)
	}
	id = json.RawMessage(jsonNull)
	if raw, ok := fields["id"]; ok {
		id = raw
	}
	verb = Verb(fields.text("verb"))
	if verb == "" {
		return "", id, errors.New("request has no verb: set \"verb\" to a string")
	}
	return verb, id, nil
}

// failure builds a response that carries no result.
func failure(id json.RawMessage, message string) response {
	return response{Protocol: ControlProtocol, Error: message, ID: id}
}

// unknownVerb answers a verb nobody serves with those that are.
func unknownVerb(id json.RawMessage, verb Verb, supported []Verb) response {
	r := failure(id, fmt.Sprintf("unknown verb %q", verb))
	r.SupportedVerbs = supported
	return r
}

// encodeResponse writes one line. A reply that is too large or cannot be encoded becomes an error reply; an id too large
// to repeat becomes null.
// Implements G-242.
func encodeResponse(r response) []byte {
	line, err := json.Marshal(r)
	if err == nil && len(line) <= MaxResponseBytes {
		return append(line, '\n')
	}
	message := fmt.Sprintf("reply of %d bytes is larger than %d", len(line), MaxResponseBytes)
	if err != nil {
		message = "reply could not be encoded: " + err.Error()
	}
	line, err = json.Marshal(failure(r.ID, message))
	if err != nil || len(line) > MaxResponseBytes {
		line, _ = json.Marshal(failure(json.RawMessage(jsonNull), message))
	}
	return append(line, '\n')
}

// parseResponse reads a response line into result. Anything but an accepted request with an object as its result is an
// error.
// Implements G-243.
func parseResponse(line []byte, result any) error {
	fields, ok := parseObject(line)
	if !ok {
		return errors.New("answer is not a JSON object")
	}
	if string(fields["ok"]) != "true" {
		if message := fields.text("error"); message != "" {
			return fmt.Errorf("refused: %s", message)
		}
		return errors.New("refused without a reason")
	}
	raw := bytes.TrimSpace(fields["result"])
	if len(raw) == 0 || raw[0] != '{' {
		return errors.New("result is not an object")
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}
