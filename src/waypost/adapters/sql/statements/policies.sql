-- name: policies_all
-- All policies, for the cache of each process.
SELECT org_id, settings FROM policy

-- name: policy_get
-- The org's own settings.
SELECT settings FROM policy WHERE org_id = $1

-- name: policy_put
-- Replaces the org's own settings.
INSERT INTO policy (org_id, settings) VALUES ($1, $2)
ON CONFLICT (org_id) DO UPDATE SET settings = excluded.settings RETURNING org_id

-- name: policy_ensure
-- A row for policy_swap, which only updates.
INSERT INTO policy (org_id, settings) VALUES ($1, '{}') ON CONFLICT (org_id) DO NOTHING

-- name: policy_swap
-- Compare and set: does not overwrite a concurrent change.
UPDATE policy SET settings = $2 WHERE org_id = $1 AND settings = $3 RETURNING org_id

-- name: quiet_ended
-- Messages deferred by quiet hours are checked again.
UPDATE delivery SET due_at = $2, deferred_by = NULL WHERE org_id = $1 AND deferred_by = 'quiet' AND status = 'QUEUED'
RETURNING message_id

-- name: later_sooner
-- What quiet hours deferred is checked again at once.
UPDATE later SET due_at = $2 WHERE message_id = $1
