-- name: template_sync_put
-- Locks the account's row; returns no row if the stored list was requested later.
INSERT INTO template_sync (org_id, waba_id, synced_at, version) VALUES ($1, $2, $3, 1)
ON CONFLICT (org_id, waba_id) DO UPDATE SET synced_at = excluded.synced_at, version = template_sync.version + 1
WHERE template_sync.synced_at <= excluded.synced_at
RETURNING version

-- name: template_sync_lock
-- Waits for a concurrent replacement of the list: only the next statement sees its new rows.
UPDATE template_sync SET version = version + 1 WHERE org_id = $1 AND waba_id = $2 RETURNING version

-- name: template_sync_get
-- When the account's templates were last fetched.
SELECT synced_at, version FROM template_sync WHERE org_id = $1 AND waba_id = $2

-- name: template_sync_stale
-- Accounts whose templates are to be fetched again.
SELECT org_id, waba_id FROM template_sync WHERE synced_at < $1 ORDER BY synced_at, org_id, waba_id

-- name: template_told_since
-- Statuses that a webhook reported after the list was asked for: they are newer than the list.
SELECT name, language, status, status_at FROM template WHERE org_id = $1 AND waba_id = $2 AND status_at > $3

-- name: template_clear
-- Before the fetched list is stored.
DELETE FROM template WHERE org_id = $1 AND waba_id = $2

-- name: template_insert
-- A template of the fetched list.
INSERT INTO template (org_id, waba_id, name, language, status, status_at, definition)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: template_status
-- A webhook's new status; an older one changes nothing.
UPDATE template SET status = $5, status_at = $6
WHERE org_id = $1 AND waba_id = $2 AND name = $3 AND language = $4
    AND (status_at < $6 OR (status_at = $6 AND status <> $5))
RETURNING status

-- name: templates_of
SELECT status, definition FROM template WHERE org_id = $1 AND waba_id = $2 ORDER BY name, language
