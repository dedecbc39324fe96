-- Rows of work that was handed to child sessions and whose result is owed to another session (S-201).

-- name: LiveDelegations :one
SELECT COUNT(*) FROM async_delegations WHERE state IN ('running', 'stalling', 'finalizing');

-- name: InsertDelegation :exec
INSERT INTO async_delegations (
    delegation_id, origin_session, origin_ui_session_id, parent_session_id, origin_session_id, state, dispatched_at,
    updated_at, task_json, owner_pid, owner_started_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GetDelegation :one
SELECT * FROM async_delegations WHERE delegation_id = ?;

-- name: ListDelegations :many
SELECT * FROM async_delegations
WHERE (CAST(sqlc.arg(parent) AS TEXT) = '' OR parent_session_id = CAST(sqlc.arg(parent) AS TEXT))
ORDER BY dispatched_at DESC, delegation_id DESC
LIMIT sqlc.arg(max_rows);

-- name: UnfinishedDelegations :many
SELECT * FROM async_delegations WHERE state IN ('running', 'stalling', 'finalizing') ORDER BY dispatched_at, delegation_id;

-- name: PendingDelegations :many
SELECT * FROM async_delegations
WHERE delivery_state = 'pending' AND event_json IS NOT NULL AND state NOT IN ('running', 'stalling', 'finalizing')
ORDER BY COALESCE(completed_at, dispatched_at), delegation_id;

-- name: RecordDelegation :execrows
UPDATE async_delegations
SET state = CAST(sqlc.arg(state) AS TEXT), result_json = sqlc.arg(result), updated_at = sqlc.arg(at)
WHERE delegation_id = sqlc.arg(id) AND state IN ('running', 'stalling', 'finalizing');

-- name: FinishDelegation :execrows
UPDATE async_delegations
SET state = CAST(sqlc.arg(state) AS TEXT), event_json = sqlc.arg(event), result_json = sqlc.arg(result),
    completed_at = sqlc.arg(completed_at), updated_at = sqlc.arg(at), delivery_state = 'pending'
WHERE delegation_id = sqlc.arg(id) AND state IN ('running', 'stalling', 'finalizing');

-- name: ClaimDelegation :execrows
UPDATE async_delegations
SET delivery_claim = sqlc.arg(claim), delivery_claimed_at = sqlc.arg(at), updated_at = sqlc.arg(at),
    delivery_attempts = COALESCE(delivery_attempts, 0) + 1
WHERE delegation_id = sqlc.arg(id) AND delivery_state = 'pending'
  AND (delivery_claim IS NULL OR COALESCE(delivery_claimed_at, 0) < CAST(sqlc.arg(stale_before) AS REAL));

-- name: ReleaseDelegation :execrows
UPDATE async_delegations
SET delivery_state = CASE WHEN COALESCE(delivery_attempts, 0) >= CAST(sqlc.arg(most) AS INTEGER) THEN 'dropped' ELSE delivery_state END,
    delivery_claim = NULL, delivery_claimed_at = NULL, updated_at = sqlc.arg(at)
WHERE delegation_id = sqlc.arg(id) AND delivery_claim = sqlc.arg(claim) AND delivery_state = 'pending';

-- name: DeferDelegation :execrows
UPDATE async_delegations
SET delivery_attempts = MAX(COALESCE(delivery_attempts, 0) - 1, 0),
    delivery_claim = NULL, delivery_claimed_at = NULL, updated_at = sqlc.arg(at)
WHERE delegation_id = sqlc.arg(id) AND delivery_claim = sqlc.arg(claim) AND delivery_state = 'pending';

-- name: SettleDelegation :execrows
UPDATE async_delegations
SET delivery_state = CAST(sqlc.arg(delivery_state) AS TEXT), delivered_at = sqlc.arg(delivered_at),
    delivery_claim = NULL, delivery_claimed_at = NULL, updated_at = sqlc.arg(at)
WHERE delegation_id = sqlc.arg(id) AND delivery_claim = sqlc.arg(claim) AND delivery_state = 'pending';

-- name: DropOldDelegations :many
UPDATE async_delegations
SET delivery_state = 'dropped', delivery_claim = NULL, delivery_claimed_at = NULL, updated_at = sqlc.arg(at)
WHERE delivery_state = 'pending' AND state NOT IN ('running', 'stalling', 'finalizing')
  AND COALESCE(completed_at, dispatched_at) < CAST(sqlc.arg(before) AS REAL)
RETURNING delegation_id;

-- name: ExpireDelegations :execrows
DELETE FROM async_delegations WHERE delivery_state = 'delivered' AND delivered_at < CAST(sqlc.arg(before) AS REAL);

-- name: TrimSettledDelegations :execrows
DELETE FROM async_delegations
WHERE delegation_id IN (
    SELECT d.delegation_id FROM async_delegations d
    WHERE d.delivery_state IN ('delivered', 'dropped') AND d.state NOT IN ('running', 'stalling', 'finalizing')
    ORDER BY CASE d.delivery_state WHEN 'delivered' THEN 1 ELSE 0 END, COALESCE(d.completed_at, d.dispatched_at) DESC
    LIMIT -1 OFFSET CAST(sqlc.arg(keep) AS INTEGER)
);

-- name: TrimPendingDelegations :execrows
DELETE FROM async_delegations
WHERE delegation_id IN (
    SELECT d.delegation_id FROM async_delegations d
    WHERE d.delivery_state = 'pending' AND d.state NOT IN ('running', 'stalling', 'finalizing')
    ORDER BY COALESCE(d.completed_at, d.dispatched_at) DESC
    LIMIT -1 OFFSET CAST(sqlc.arg(keep) AS INTEGER)
);

-- name: HasPlatformMessage :one
SELECT EXISTS (
    SELECT 1 FROM messages WHERE session_id = sqlc.arg(session) AND platform_message_id = CAST(sqlc.arg(message) AS TEXT)
);

-- name: DeleteDelegationsOf :exec
DELETE FROM async_delegations WHERE parent_session_id IN (sqlc.slice(ids));
