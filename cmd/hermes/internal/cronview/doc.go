// Package cronview renders a profile's scheduled work for people. It is pure: it reads what the API answered and the
// present time, and must never ask anybody.
//
// Implements C-200 to C-205 of spec/gateway-cron-sessions.md as far as they are about output.
package cronview
