// Package manifests reads declarations (files, directories, standard input; YAML and JSON, many documents
// a file), applies them by server-side apply, and prunes objects that a set no longer declares. One bad
// document never hides the others. It must never delete an object that the same set did not label.
// Implements hermes apply and hermes up --manifests of design §9.
package manifests
