-- name: GetCompactionState :one
SELECT compression_failure_cooldown_until, compression_failure_error, compression_fallback_streak,
    compression_ineffective_count, compression_recovery_deadline, compression_overload_streak
FROM sessions WHERE id = ?;

-- name: SetCompactionState :execrows
UPDATE sessions
SET compression_failure_cooldown_until = ?, compression_failure_error = ?, compression_fallback_streak = ?,
    compression_ineffective_count = ?, compression_recovery_deadline = ?, compression_overload_streak = ?
WHERE id = ?;

-- name: ActiveMessageIDs :many
SELECT id FROM messages WHERE session_id = ? AND active = 1 ORDER BY id;

-- name: SupersedeMessages :execrows
UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1;

-- name: TakeCompressionLock :execrows
INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at)
VALUES (sqlc.arg(session_id), sqlc.arg(holder), sqlc.arg(now), sqlc.arg(expires_at))
ON CONFLICT (session_id) DO UPDATE
SET holder = excluded.holder, acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
WHERE compression_locks.holder = excluded.holder OR compression_locks.expires_at <= excluded.acquired_at;

-- name: GetCompressionLock :one
SELECT * FROM compression_locks WHERE session_id = ?;

-- name: DropCompressionLock :execrows
DELETE FROM compression_locks WHERE session_id = ? AND holder = ?;

-- name: CountLocks :one
SELECT (SELECT COUNT(*) FROM compression_locks) + (SELECT COUNT(*) FROM session_turn_leases) AS locks;

-- name: DropCompressionLocks :exec
DELETE FROM compression_locks;

-- name: DropTurnLeases :exec
DELETE FROM session_turn_leases;
