// Package safetext makes text that came from a model, a tool or another person harmless for a terminal. Everything of
// hermes chat that is not a constant of its own goes through it before it is shown. It knows nothing of colours or of
// markdown. Implements hermes chat of design §9.
package safetext
