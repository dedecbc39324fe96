// Package homeimport turns the home of the Python agent into objects of hermes.dev and files of a new profile. Reading
// and deciding are apart: Read collects what is there, Convert is a pure function over it.
//
// It must never write into, or beside, what it reads; the caller's copy of state.db is made by store.CopyForeign. A secret's
// value leaves this package only when that was asked for. Nothing is dropped in silence: what has no counterpart is named
// in the notes.
//
// Implements sections 1.2, 1.3 and 4.1 of spec/gateway-cron-sessions.md from the reader's side (G-112, G-114, C-101, C-102,
// C-106, C-107).
package homeimport
