// Package credentials owns who may talk to the API server of one data directory and how secrets are
// sealed on disk: two static tokens, the kubeconfigs that carry them, and the encryption key. Each is
// made once with crypto/rand, written atomically with mode 0600, and never logged.
package credentials
