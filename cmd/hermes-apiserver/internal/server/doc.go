// Package server owns the API server itself: the generic control plane of Kubernetes (CRDs, the built-in
// APIs a control plane without nodes needs, the aggregator for discovery and OpenAPI) over one storage
// backend, plus the three controllers without which deleting things never ends.
//
// It must never serve anything that needs nodes, never listen anywhere but on the listener it is given,
// and never keep a copy of all Secrets in memory.
package server
