// Package fakemodel is a real HTTP server that speaks OpenAI chat completions and Anthropic messages from a script, for tests.
//
// It owns the wire from the server's side: whole and streamed answers, tool calls in pieces, keys, a record of every
// request, and the faults a real server or network shows. It must never decide anything about the client under test
// and never wait by the clock: a stalled answer waits for the client to leave, for its gate, or for Close.
package fakemodel
