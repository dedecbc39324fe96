// Package profile reconciles Profiles: it resolves what they refer to, renders
// their home into one Secret that only their gateway reads, and sums up what the
// gateway reports.
//
// It never talks to a gateway and never touches a home directory: the gateway's
// node agent watches the Secret, writes the home and reports condition Served.
// It never writes a Profile's spec, never adopts a foreign Secret, and writes
// nothing when nothing changed.
package profile
