// Package pki owns the certificate authority, the serving certificate and the service account key of one
// data directory: it creates what is missing, renews what is near its end, and stores each pair as one
// PEM file so that a crash never leaves a certificate without its key. It must never trust or read a
// certificate from outside the directory.
package pki
