// Package sessions is how hermes sessions shows what is stored, and how it reads times and ages. It reaches no store:
// that is package reach.
package sessions
