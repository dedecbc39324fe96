// Package conformance holds every kind to the same promises (design section 2,
// rules 4 and 5), against the real API server and the real operator: a settled
// system and one that waits write nothing, drift is repaired, foreign objects
// are left alone, conditions are true and recover by themselves, every reason
// can be reached and every spec field has an effect.
//
// A kind joins by adding rows to the tables. Nothing here may sleep in place of
// waiting for a condition, or read the operator's memory.
package conformance
