// Package home owns a profile's HERMES_HOME: where it is, what it is called, what a declared Profile
// renders into it, how that is written to disk, and how its config.yaml and .env are read back hot.
//
// Rendering (Render, References, Bundle) is pure and used by the controller. Writing (Materialise, Remove,
// Release, Inspect) and reading (View, EnvView, Secrets) are used inside the gateway process.
//
// It must never take a value from the process environment except in ReadEnvironment, never fall back from one
// profile's values to another's, never put a secret's value into config.yaml, never touch a file a person made,
// and never keep state at package level.
//
// It implements spec gateway-cron-sessions section 1 (G-101 to G-117), peer-messaging-and-nix B4 to B7
// (N-17 to N-34 as they apply to a home on disk) and shared-metrics M-2, M-7 and M-8 for the config view.
package home
