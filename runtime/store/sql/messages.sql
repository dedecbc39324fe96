-- name: InsertMessage :execlastid
INSERT INTO messages (
    session_id, role, content, tool_call_id, tool_calls, tool_name, effect_disposition, timestamp, token_count,
    finish_reason, reasoning, reasoning_content, reasoning_details, codex_reasoning_items, codex_message_items,
    platform_message_id, observed, _compressed_summary, api_content, display_kind, display_metadata,
    display_identity, display_order
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: ActiveMessages :many
SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id;

-- name: FirstSaid :one
SELECT CAST(COALESCE(substr(content, 1, 200), '') AS TEXT) FROM messages
WHERE session_id = ? AND active = 1 AND role = 'user' AND COALESCE(_compressed_summary, 0) = 0 ORDER BY id LIMIT 1;

-- name: MessagesAfter :many
SELECT * FROM messages WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?;
