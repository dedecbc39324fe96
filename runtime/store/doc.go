// Package store owns one profile's session store: the SQLite file state.db, its sidecars and its lock file.
//
// It holds the schema (version 30), brings older files up to it, and is the only writer of the file while it is
// open. One Store belongs to one profile; nothing here knows which profile is current.
//
// It must never open, read, copy or hash the database file with anything but SQLite while a connection lives:
// closing any descriptor of the file drops the process's POSIX locks on it (rule S-133). It must never modify or
// delete a file it judged damaged (S-135), and never let two processes write one store.
//
// Durability. Transactions run at synchronous=NORMAL in WAL mode: a commit is in the operating system's hands when
// the call returns, so killing the process loses no acknowledged row. A power cut may lose the last commits since a
// checkpoint, never the file's integrity. Options.Synchronous "FULL" pays one fsync a commit for the difference,
// about five times the cost of a small transaction.
//
// Full text. The index can be made anew from messages at any time and is never worth a message: writes do not wait
// for it, its damage is repaired behind them, and a search reads the rows that it does not have yet.
//
// Guards. A log that is deleted under a live writer, and a second one beside it, is how stores were damaged. So a store
// is refused while any process holds a deleted generation of its log, the identity of every file is compared before
// each write and read, and a handle that was cut off keeps its files and copies them (Captures). Who holds a lock or
// a file is told from the kernel's lists of locks and descriptors, in logs and reports, never in an error's text.
//
// Tables that other packages own later: delivery_obligations is created by its owner on first use.
//
// Implements section 2 of spec/gateway-cron-sessions.md: the schema (S-101 to S-106), write contention (S-110 to
// S-120), the guards (S-130 to S-135) and what maintenance needs (S-141 to S-146).
package store
