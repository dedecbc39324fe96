// Package storage owns the database of one control plane: kine's SQLite driver, spoken to as etcd over
// an in-memory connection, so that nothing outside this process can reach it and no socket path can be
// too long or left behind.
//
// Durability: WAL with synchronous=NORMAL. An acknowledged write is in the operating system's page cache
// before the answer leaves, so kill -9 loses nothing; a power cut may lose the writes since the last
// checkpoint, never the integrity of the file. FULL would add an fsync to every write.
//
// The WAL is bounded: SQLite's own checkpoints cannot reset it while a reader is always inside, so a
// keeper folds it back into the database whenever it passes WALLimit.
package storage
