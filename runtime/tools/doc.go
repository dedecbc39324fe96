// Package tools owns what a profile's agent may do outside the model: the tool
// registry, the catalogue of toolsets and what a configuration selects of it,
// argument validation, approvals and where they are remembered, and the
// built-in tools: files, terminal and background processes, memory, to-do
// lists, session search, questions, skills and the web. docs/tools.md lists
// them; a test keeps that page true.
//
// Everything hangs off one *Set that belongs to one profile. The package must
// never
//
//   - read the environment of this process: a child gets a built environment (G-346);
//   - open a path outside the workspace and the declared roots, or a secret or
//     lock file of a home, or any state.db (S-133: closing a descriptor on a
//     live SQLite file drops the locks of the process that serves it);
//   - leave a process behind after the call that started it, or, for one that
//     was started in the background, after the profile; nor take one over from
//     an earlier run, because a number does not tell whose process it is;
//   - connect to an address that has not been judged, or leave a connection;
//   - run a handler on a goroutine other than the caller's, so that a panic
//     reaches the profile boundary, which is the one place that recovers.
//
// Argument schemas are checked with google/jsonschema-go, the library the Go
// MCP SDK uses too, so one implementation judges built-in and MCP schemas.
// Commands are read with mvdan.cc/sh, the shell parser that is kept best;
// globs with bmatcuk/doublestar, ignore files with sabhiram/go-gitignore (one
// file without dependencies, where go-git would bring a whole client), HTML
// with JohannesKaufmann/html-to-markdown over golang.org/x/net/html.
//
// It implements sections T.1, T.2 and T.4 of the plugins, providers and agent
// specification, the approval step of L8, and G-346.
package tools
