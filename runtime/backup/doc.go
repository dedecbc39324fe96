// Package backup makes, lists, verifies, prunes and restores backups of one profile.
//
// A backup is one file, PROFILE-STAMP.tar.zst: manifest.json first, then state.db (a snapshot that SQLite made), then
// the profile's files below home/. It counts only after the snapshot passed SQLite's integrity check and every byte of
// the file was read back against the manifest; until then it has another name, so a kill at any point leaves the older
// backups and no half one.
//
// A restore verifies first, stages the new store beside the old one, and then swaps by rename under the store's lock.
// What it is about to do stands in a journal: after a kill, Recover finishes it. The replaced store is kept, with its
// sidecars moved before it, so two generations of one write-ahead log never meet.
//
// It must never open, copy or hash a live database file (rule S-133): the snapshot is made by whoever owns the store. It
// must never write a secret's value into a backup unless asked, nor delete a backup that it did not make on a schedule,
// nor the newest good one.
//
// Implements design section 10, "One writer per store", for copies.
package backup
