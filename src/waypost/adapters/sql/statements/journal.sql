-- name: journal_newest
-- The org's journal items, newest first.
SELECT id, org_id, number, kind, key, state, error, received_at, body, told_at
FROM journal WHERE org_id = $1 ORDER BY id DESC LIMIT $2

-- name: journal_by_state
-- The same, in one state.
SELECT id, org_id, number, kind, key, state, error, received_at, body, told_at
FROM journal WHERE org_id = $1 AND state = $3 ORDER BY id DESC LIMIT $2

-- name: journal_get
-- One journal item of the org.
SELECT id, org_id, number, kind, key, state, error, received_at, body, told_at FROM journal WHERE id = $2 AND org_id = $1

-- name: journal_lock
-- Locks the items of account updates, so that each is applied once.
SELECT id, org_id, number, kind, key, state FROM journal WHERE org_id = $1 AND number = $2 AND kind = $3 AND key = $4

-- name: journal_mark
-- What became of an item.
UPDATE journal SET state = $2, error = $3 WHERE id = $1

-- name: journal_forget
-- Pending items are never pruned.
DELETE FROM journal WHERE id IN (
    SELECT id FROM journal WHERE received_at < $1 AND state <> 'pending' ORDER BY received_at LIMIT $2
) RETURNING id

-- name: word_put
-- Only if it is not older than the stored one; the second transaction waits here for the first.
INSERT INTO provider_word (org_id, topic, at, code, reason, until) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (org_id, topic) DO UPDATE
SET at = excluded.at, code = excluded.code, reason = excluded.reason, until = excluded.until
WHERE provider_word.at <= excluded.at
RETURNING org_id, topic

-- name: words_of
-- Every cause that may hold this account, as the provider last reported it.
SELECT topic, code, reason, until FROM provider_word WHERE org_id = $1 AND topic IN ($2, $3, $4)

-- name: hold_drop
-- The hold is derived anew from its causes.
DELETE FROM gate WHERE org_id = $1 AND name = $2 AND kind = 'hold' RETURNING id

-- name: number_tier
-- Meta reports the daily limit per account: all its numbers get it.
UPDATE number SET tier = $3, updated_at = $4 WHERE org_id = $1 AND waba_id = $2 RETURNING id

-- name: number_pace
-- The messages per second that Meta reports for a number.
UPDATE number SET pace = $3, updated_at = $4 WHERE org_id = $1 AND id = $2 RETURNING id

-- name: template_sync_outdate
-- A list that was requested after the provider's update already contains it.
UPDATE template_sync SET synced_at = $4 WHERE org_id = $1 AND waba_id = $2 AND synced_at <= $3 AND synced_at > $4
RETURNING version

-- name: dossiers_reached
-- The dossiers whose customers changed a preference.
SELECT id, org_id, phone FROM dossier WHERE org_id = $1 AND phone = $2

-- name: consent_told
-- A later consent stays.
INSERT INTO consent (org_id, subject, channel, status, at, heard_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (org_id, subject, channel) DO UPDATE
SET status = excluded.status, at = excluded.at, heard_at = excluded.heard_at
WHERE consent.at <= excluded.at
RETURNING org_id, subject
