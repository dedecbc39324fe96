// Package agent runs turns: it takes what a person said, asks the model, runs the tools the model calls, and stores
// every row before anything depends on it.
//
// It owns the order of things inside a turn, the legality of a session's history, what an interrupted turn leaves
// behind, the turn budget, and the typed errors a caller can show. It must never keep partial text of a model as
// history (L5), run a tool call twice unless it only reads, recover a panic (the profile boundary does; a panic of a tool that ran beside
// others is carried to the goroutine of Run), or know where a message came from beyond its source name.
//
// The order of one turn is: repair and user row in one transaction, request, assistant row with its tool calls,
// tools, each result in call order, next request, …, reply row, done. After a crash at any point the stored rows say
// what is known: calls without a result get one that says that their effect is unknown.
//
// Beside a turn it owns what a person may do to it and to what came of it: say something to it while it runs (P-35 to
// P-39), stop it, undo it, and have its session named (S-241).
//
// A session that outgrows the model's window is compacted between two requests: planned by the package compaction,
// summarised by the model in a request of its own, and replaced in one transaction, so that a stop or a crash leaves the
// old rows or the new ones.
//
// Implements the plugins-providers-agent specification, section L.1 (L1, L2, L4-L8), part A9 of the peer-messaging
// specification, and S-102, S-114, S-241 and S-401 to S-407 of the sessions specification.
package agent
