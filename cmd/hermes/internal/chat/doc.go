// Package chat talks with one profile through its gateway's local API: it finds the gateway, runs turns, shows
// what happens while they run, asks for approvals, and reads lines from a person. The gateway does everything else:
// this package keeps no history, decides nothing about tools and never opens a profile's store.
//
// What a model says is shown with its control characters made harmless, so that it can neither move the cursor nor
// dress up as a question of ours. Implements hermes chat of design §9.
package chat
