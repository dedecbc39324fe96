-- Created after columns are reconciled: an index over a column that an older file lacks would fail.

CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_sessions_key ON sessions(session_key, started_at) WHERE session_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX IF NOT EXISTS idx_sessions_activity ON sessions(COALESCE(last_activity_at, started_at), id);
CREATE INDEX IF NOT EXISTS idx_messages_session_active ON messages(session_id, active, id);
CREATE INDEX IF NOT EXISTS idx_delegations_delivery ON async_delegations(delivery_state, state);
