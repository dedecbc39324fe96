// Package cron owns a profile's scheduled work: what a schedule text means, the job store, who may run an occurrence, the
// execution ledger and the tick.
//
// It is built as pure decisions over values with a thin shell of files around them:
//
//   - schedules: grammar, occurrences across daylight saving, grace and lateness (parse.go, expression.go, next.go, grace.go);
//   - the job store <home>/cron/jobs.json: tolerant reading, atomic writing, lost-update guard, job lifecycle (job.go,
//     decode.go, store.go, merge.go, create.go, edit.go, lifecycle.go);
//   - claims: what a tick decides about one job, fences and the protocol by which at most one process runs an occurrence
//     (evaluate.go, claim.go, fire.go, fence.go);
//   - the ledger <home>/cron/executions.db (ledger.go);
//   - the tick of one profile and the ticker over all of them (tick.go, dispatch.go, ticker.go);
//   - what a run means: markers, incidents, retry ladders, delivery targets (outcome.go, incident.go, target.go).
//
// The package must never run an agent, open a profile's state.db, read the environment, or send anything: it asks a
// [Runner] to run a prompt and a [Deliverer] to deliver a text. Everything hangs off one Store per profile; there is no
// map keyed by home and no current profile, so one profile's run cannot be taken for another's (C-173). Time comes from
// the clock that is passed in.
//
// Implements section 4 of spec/gateway-cron-sessions.md (C-101 to C-206, C-220, C-221, C-230, C-231).
package cron
