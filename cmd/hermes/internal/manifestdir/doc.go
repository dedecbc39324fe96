// Package manifestdir keeps a control plane as a directory of manifests declares it: it applies what is
// there, follows changes, and prunes what left, of its own objects only. A broken or half-written file never
// hides the others and never causes a deletion; it is tried again. A directory that does not change causes
// no request at all. Implements hermes up --manifests of design §9.
package manifestdir
