// Package delegation decides, over values alone, about work that an agent hands to child sessions: what was asked, what
// came of it, what the session that asked is told, whether it may still be told, and where.
//
// It owns the arguments of the tool delegate_task, the task and result of a delegation as the store keeps them, the
// completion event and the notice made from it, the classification of the session that asked, and the rules of recovery,
// replay and duplicate suppression. It must never talk to a store, a model or a clock, run a child, or let what a child
// said pass for the words of a person.
//
// A delegation is synchronous, and then its results are the result of the tool call, or asynchronous: then it is a row
// before a child runs, its result becomes an event, and the event enters the session as a turn of its own when nothing
// runs there. Children delegate nothing themselves.
//
// Implements the sessions specification, section 5.1 to 5.3 (S-203 to S-226; of S-222, S-224 and S-225 the decisions).
package delegation
