// Package gateway reconciles Gateways: it resolves the home root, refuses a root
// that another Gateway claims, keeps the gateway running through its engine and
// sums up what the engine observes.
//
// It knows nothing of processes or pods: that is the engine's. It never guesses a
// missing Gateway into existence and writes nothing when nothing changed.
package gateway
