// Package compaction plans how a session that outgrows its model's window is made smaller, over values alone.
//
// It owns the budgets, the boundaries between what stays and what is summarised, the stubs of old tool results, what
// the model that writes a summary is told, the shape of a summary in the history, the summary that is written without
// a model, and when to try again after a failure. It must never talk to a model or a store, drop a person's words
// without keeping them in the summary, split a tool call from its result, or let text of tools, documents or other
// agents pass for the user's.
//
// The new generation of rows is: the head (the first rows of the session), one summary row, the anchors (what the
// person and the agent said last, when that lies before the tail), and the tail (the newest rows). Short assistant rows
// between them keep the roles alternating; they and the summary are marked, so that the next compaction replaces them.
//
// Implements the sessions specification, S-401 to S-407, and P-32 and P-33 of the peer messaging specification.
package compaction
