// Package localapi is the HTTP API of a gateway: OpenAI-compatible chat
// completions with the profile as model, and the sessions of its profiles. It
// holds the handler, the unix socket it is served on (mode 0600, beside the
// control socket) and the client that the command line uses.
//
// It owns wire formats and nothing else: a turn is the profile's, and so is every
// decision. The handler does not know who may call it; the socket's mode does that
// here, and a key does when the same handler is served over TCP.
package localapi
