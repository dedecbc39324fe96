// Package mcp owns a profile's connections to MCP servers: reading their
// declarations, starting and connecting them, keeping them connected, and
// offering what they have as tools of the profile's tool sets.
//
// Everything hangs off one *Servers that belongs to one profile; every server
// has one goroutine, which owns its connection. The package must never
//
//   - let a server wait for another one, or a turn for a server that is not there;
//   - give a server more of the environment than is declared for it (G-346, T17),
//     or a header to another host than the declared one;
//   - show a declared value (environment, header, query of an URL) in a log, a
//     state or an error;
//   - leave a process, a connection or a goroutine behind after Close.
//
// What a model is offered changes as little as possible, because the list of
// tools is the very beginning of every prompt that a provider caches: a turn
// keeps the list it began with; a server that connects later is in the list of
// the next turn, since a missing capability costs a person more than one cache
// miss; and a server that is lost stays in the list for a minute, so that one
// that restarts or flaps changes nothing. Its tools wait for it for a moment
// and then say what is wrong.
//
// The protocol is the Go MCP SDK's (modelcontextprotocol/go-sdk); starting and
// ending processes is runtime/tools', so that one implementation finds a whole
// process tree.
//
// It implements section T.3 (T15 to T19), T3, T7 and T8 for tools of servers,
// and G-346, of the plugins, providers and agent specification.
package mcp
