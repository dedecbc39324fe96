-- What the agent keeps of a session beside its messages.

-- name: PendingSteer :one
SELECT CAST(COALESCE(value, '') AS TEXT) FROM state_meta WHERE key = ?;

-- name: SetPendingSteer :exec
INSERT INTO state_meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: DropPendingSteer :exec
DELETE FROM state_meta WHERE key = ?;

-- name: Entitle :execrows
UPDATE sessions SET title = CAST(sqlc.arg(title) AS TEXT), title_source = CAST(sqlc.arg(source) AS TEXT)
WHERE id = sqlc.arg(id)
  AND (title IS NULL AND title_source IS NULL OR title_source = CAST(sqlc.arg(replaces) AS TEXT));

-- name: TitlesBetween :many
SELECT CAST(title AS TEXT) FROM sessions WHERE title >= CAST(sqlc.arg(low) AS TEXT) AND title < CAST(sqlc.arg(high) AS TEXT);

-- name: Deactivate :many
UPDATE messages SET active = 0 WHERE session_id = ? AND active = 1 AND id >= ? RETURNING id;

-- name: CountRewind :execrows
UPDATE sessions
SET rewind_count = COALESCE(rewind_count, 0) + 1,
    message_count = MAX(COALESCE(message_count, 0) - CAST(sqlc.arg(messages) AS INTEGER), 0),
    last_activity_at = MAX(COALESCE(last_activity_at, 0), CAST(sqlc.arg(at) AS REAL))
WHERE id = sqlc.arg(id);
