// Package kube is how verbs talk to a control plane: which configuration they use, how the names of kinds
// are resolved (ours first, without asking the server), and how an error of the API becomes one clear line.
// It must never write to the cluster. Implements the lookup rules of design §9.
package kube
