-- name: InsertSession :execrows
INSERT INTO sessions (
    id, source, created_source, user_id, session_key, chat_id, chat_type, thread_id, display_name, origin_json,
    model, model_config, system_prompt_hash, parent_session_id, started_at, cwd, git_branch, git_repo_root,
    title, title_source, last_activity_at, profile_name, transport_profile, tool_names
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING;

-- name: GetSession :one
SELECT * FROM sessions WHERE id = ?;

-- name: SessionByKey :one
SELECT * FROM sessions WHERE session_key = ? AND ended_at IS NULL ORDER BY started_at DESC, id DESC LIMIT 1;

-- name: ListSessions :many
SELECT * FROM sessions
WHERE (COALESCE(last_activity_at, started_at), id) < (CAST(sqlc.arg(before) AS REAL), CAST(sqlc.arg(before_id) AS TEXT))
  AND CASE CAST(sqlc.arg(source) AS TEXT)
    WHEN '' THEN source <> 'subagent' OR CAST(sqlc.arg(max_hidden) AS INTEGER) > 0
    ELSE source = CAST(sqlc.arg(source) AS TEXT) END
  AND COALESCE(last_activity_at, started_at) >= CAST(sqlc.arg(since) AS REAL)
  AND COALESCE(hidden, 0) <= CAST(sqlc.arg(max_hidden) AS INTEGER)
  AND COALESCE(archived, 0) <= CAST(sqlc.arg(max_archived) AS INTEGER)
ORDER BY COALESCE(last_activity_at, started_at) DESC, id DESC
LIMIT sqlc.arg(max_rows);

-- name: SetTitle :execrows
UPDATE sessions SET title = ?, title_source = ? WHERE id = ?;

-- name: SessionsLike :many
SELECT id, CAST(COALESCE(title, '') AS TEXT) AS title,
    CAST(COALESCE(last_activity_at, started_at) AS REAL) AS last_activity
FROM sessions
WHERE substr(id, 1, length(CAST(sqlc.arg(ref) AS TEXT))) = CAST(sqlc.arg(ref) AS TEXT)
   OR LOWER(title) = LOWER(CAST(sqlc.arg(ref) AS TEXT))
   OR title = CAST(sqlc.arg(ref) AS TEXT)
ORDER BY COALESCE(last_activity_at, started_at) DESC, id DESC;

-- name: SessionWithTitle :one
SELECT id FROM sessions WHERE title = ?;

-- name: EndSession :execrows
UPDATE sessions
SET ended_at = COALESCE(ended_at, CAST(sqlc.arg(ended_at) AS REAL)),
    end_reason = CASE WHEN ended_at IS NULL THEN CAST(sqlc.arg(end_reason) AS TEXT) ELSE end_reason END
WHERE id = sqlc.arg(id);

-- name: ReopenSession :execrows
UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?;

-- name: TouchSession :execrows
UPDATE sessions
SET last_activity_at = MAX(COALESCE(last_activity_at, 0), CAST(sqlc.arg(at) AS REAL)),
    last_activity_description = sqlc.arg(description), last_activity_provenance = sqlc.arg(provenance)
WHERE id = sqlc.arg(id);

-- name: InsertSystemPrompt :exec
INSERT INTO system_prompts (hash, prompt) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING;

-- name: PromptByHash :one
SELECT prompt FROM system_prompts WHERE hash = ?;

-- name: SetSystemPromptHash :execrows
UPDATE sessions SET system_prompt_hash = ?, system_prompt = NULL WHERE id = ?;

-- name: CountAppended :execrows
UPDATE sessions
SET message_count = COALESCE(message_count, 0) + CAST(sqlc.arg(messages) AS INTEGER),
    tool_call_count = COALESCE(tool_call_count, 0) + CAST(sqlc.arg(tool_calls) AS INTEGER),
    last_activity_at = MAX(COALESCE(last_activity_at, 0), CAST(sqlc.arg(at) AS REAL))
WHERE id = sqlc.arg(id);

-- name: AddSessionUsage :execrows
UPDATE sessions
SET input_tokens = COALESCE(input_tokens, 0) + CAST(sqlc.arg(input_tokens) AS INTEGER),
    output_tokens = COALESCE(output_tokens, 0) + CAST(sqlc.arg(output_tokens) AS INTEGER),
    cache_read_tokens = COALESCE(cache_read_tokens, 0) + CAST(sqlc.arg(cache_read_tokens) AS INTEGER),
    cache_write_tokens = COALESCE(cache_write_tokens, 0) + CAST(sqlc.arg(cache_write_tokens) AS INTEGER),
    reasoning_tokens = COALESCE(reasoning_tokens, 0) + CAST(sqlc.arg(reasoning_tokens) AS INTEGER),
    api_call_count = COALESCE(api_call_count, 0) + CAST(sqlc.arg(api_calls) AS INTEGER),
    estimated_cost_usd = CASE WHEN CAST(sqlc.arg(has_estimate) AS INTEGER) = 0 THEN estimated_cost_usd
        ELSE COALESCE(estimated_cost_usd, 0) + CAST(sqlc.arg(estimated_cost) AS REAL) END,
    actual_cost_usd = CASE WHEN CAST(sqlc.arg(has_actual) AS INTEGER) = 0 THEN actual_cost_usd
        ELSE COALESCE(actual_cost_usd, 0) + CAST(sqlc.arg(actual_cost) AS REAL) END,
    billing_provider = COALESCE(NULLIF(CAST(sqlc.arg(billing_provider) AS TEXT), ''), billing_provider),
    billing_base_url = COALESCE(NULLIF(CAST(sqlc.arg(billing_base_url) AS TEXT), ''), billing_base_url),
    billing_mode = COALESCE(NULLIF(CAST(sqlc.arg(billing_mode) AS TEXT), ''), billing_mode)
WHERE id = sqlc.arg(id);

-- name: AddModelUsage :exec
INSERT INTO session_model_usage (
    session_id, model, billing_provider, billing_base_url, billing_mode, task, api_call_count, input_tokens,
    output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd, actual_cost_usd,
    first_seen, last_seen
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, model, billing_provider, billing_base_url, billing_mode, task) DO UPDATE SET
    api_call_count = COALESCE(api_call_count, 0) + excluded.api_call_count,
    input_tokens = COALESCE(input_tokens, 0) + excluded.input_tokens,
    output_tokens = COALESCE(output_tokens, 0) + excluded.output_tokens,
    cache_read_tokens = COALESCE(cache_read_tokens, 0) + excluded.cache_read_tokens,
    cache_write_tokens = COALESCE(cache_write_tokens, 0) + excluded.cache_write_tokens,
    reasoning_tokens = COALESCE(reasoning_tokens, 0) + excluded.reasoning_tokens,
    estimated_cost_usd = CASE WHEN excluded.estimated_cost_usd IS NULL THEN estimated_cost_usd
        ELSE COALESCE(estimated_cost_usd, 0) + excluded.estimated_cost_usd END,
    actual_cost_usd = CASE WHEN excluded.actual_cost_usd IS NULL THEN actual_cost_usd
        ELSE COALESCE(actual_cost_usd, 0) + excluded.actual_cost_usd END,
    last_seen = excluded.last_seen;

-- name: ModelUsage :many
SELECT * FROM session_model_usage WHERE session_id = ?
ORDER BY model, billing_provider, billing_base_url, billing_mode, task;

-- name: SessionTotals :one
SELECT COUNT(*) AS sessions, CAST(COALESCE(MAX(COALESCE(last_activity_at, started_at)), 0) AS REAL) AS last_activity
FROM sessions;
