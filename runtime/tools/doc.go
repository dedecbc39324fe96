// Package tools owns what a profile's agent may do outside the model: the tool
// registry, the toolsets that select from it, argument validation, approvals,
// and the built-in tools read_file, write_file, list_dir (toolset "file") and
// terminal (toolset "terminal").
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
//   - run a handler on a goroutine other than the caller's, so that a panic
//     reaches the profile boundary, which is the one place that recovers.
//
// Argument schemas are checked with google/jsonschema-go, the library the Go
// MCP SDK uses too, so one implementation judges built-in and MCP schemas.
//
// It implements sections T.1 and T.2 of the plugins, providers and agent
// specification, the approval step of L8, and G-346.
package tools
