-- name: PruneRows :many
SELECT s.id, CAST(COALESCE(s.parent_session_id, '') AS TEXT) AS parent, s.source,
    CAST(COALESCE(s.ended_at, 0) AS REAL) AS ended_at,
    CAST(MAX(COALESCE(s.ended_at, 0), COALESCE(s.last_activity_at, 0), s.started_at) AS REAL) AS last_used,
    CAST(COALESCE(s.end_reason, '') AS TEXT) AS end_reason, CAST(COALESCE(s.model_config, '') AS TEXT) AS model_config,
    CAST(COALESCE(s.pinned, 0) AS INTEGER) AS pinned,
    CAST(COALESCE(s.message_count, 0) AS INTEGER) AS message_count
FROM sessions AS s ORDER BY s.id;

-- name: DetachChildren :exec
UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN (sqlc.slice('ids'));

-- name: DeleteSessionMessages :execrows
DELETE FROM messages WHERE session_id IN (sqlc.slice('ids'));

-- name: DeleteSessionUsage :exec
DELETE FROM session_model_usage WHERE session_id IN (sqlc.slice('ids'));

-- name: DeleteCompressionLocks :exec
DELETE FROM compression_locks WHERE session_id IN (sqlc.slice('ids'));

-- name: DeleteTurnLeases :exec
DELETE FROM session_turn_leases WHERE conversation_id IN (sqlc.slice('ids'));

-- name: DeleteMeta :exec
DELETE FROM state_meta WHERE key IN (sqlc.slice('keys'));

-- name: SessionKeysOf :many
SELECT DISTINCT CAST(session_key AS TEXT) FROM sessions WHERE session_key IS NOT NULL AND id IN (sqlc.slice('ids'));

-- name: DeleteSessionRows :execrows
DELETE FROM sessions WHERE id IN (sqlc.slice('ids'));

-- name: DeleteLostRoutes :exec
DELETE FROM gateway_routing WHERE gateway_routing.session_key IN (sqlc.slice('keys'))
    AND gateway_routing.session_key NOT IN (SELECT s.session_key FROM sessions AS s WHERE s.session_key IS NOT NULL);

-- name: DeleteLostHygiene :exec
DELETE FROM gateway_hygiene_state WHERE gateway_hygiene_state.session_key IN (sqlc.slice('keys'))
    AND gateway_hygiene_state.session_key NOT IN (SELECT s.session_key FROM sessions AS s WHERE s.session_key IS NOT NULL);

-- name: DeleteLostPrompts :exec
DELETE FROM system_prompts WHERE hash NOT IN (SELECT system_prompt_hash FROM sessions WHERE system_prompt_hash IS NOT NULL);

-- name: UsedSince :many
SELECT id FROM sessions
WHERE (ended_at IS NULL
    OR MAX(ended_at, COALESCE(last_activity_at, 0), started_at) >= CAST(sqlc.arg(cutoff) AS REAL))
  AND id IN (sqlc.slice('ids'));
