-- name: dossier_get
-- One dossier of the org.
SELECT id, org_id, phone, email, name, external_ref, status, created_at, updated_at
FROM dossier WHERE id = $2 AND org_id = $1

-- name: dossier_lock
-- The same, locked, for a change.
SELECT id, org_id, phone, email, name, external_ref, status, created_at, updated_at
FROM dossier WHERE id = $2 AND org_id = $1

-- name: dossier_with_phone
-- The phone is unique in an org.
SELECT id, org_id, phone, email, name, external_ref, status, created_at, updated_at
FROM dossier WHERE org_id = $1 AND phone = $2

-- name: dossier_with_ref
-- The external reference is unique in an org.
SELECT id, org_id, phone, email, name, external_ref, status, created_at, updated_at
FROM dossier WHERE org_id = $1 AND external_ref = $2

-- name: dossiers_newest
-- The org's newest dossiers.
SELECT id, org_id, phone, email, name, external_ref, status, created_at, updated_at
FROM dossier WHERE org_id = $1 ORDER BY id DESC LIMIT $2

-- name: dossier_insert
-- The second transaction with a phone, in any form, or a reference waits here for the first, and then gets no row.
INSERT INTO dossier (org_id, phone, phone_alias, email, name, external_ref, status, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT DO NOTHING
RETURNING id, org_id, phone, email, name, external_ref, status, created_at, updated_at

-- name: dossier_put
-- An unchanged phone keeps its alias: another dossier may have it from before both forms were one person's.
UPDATE dossier SET phone = $3, phone_alias = CASE WHEN phone = $3 THEN phone_alias ELSE $4 END,
    email = $5, name = $6, external_ref = $7, status = $8, updated_at = $9
WHERE id = $2 AND org_id = $1
RETURNING id, org_id, phone, email, name, external_ref, status, created_at, updated_at

-- name: dossier_phone
-- A dossier without a phone gets the number of its contact.
UPDATE dossier SET phone = $3, phone_alias = $4, updated_at = $5 WHERE id = $2 AND org_id = $1

-- name: dossier_drop
-- The row that only reserved a phone number.
DELETE FROM dossier WHERE id = $2 AND org_id = $1

-- name: consent_put
-- The latest consent of a dossier or address for a channel.
INSERT INTO consent (org_id, subject, channel, status, at, heard_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (org_id, subject, channel) DO UPDATE
SET status = excluded.status, at = excluded.at, heard_at = excluded.heard_at

-- name: consent_find
-- The consents that a transaction decides by.
SELECT org_id, subject, channel, status, at FROM consent WHERE org_id = $1 AND subject = $2 AND channel = $3

-- name: consents_of
-- All consents of a dossier or address.
SELECT channel, status, at FROM consent WHERE org_id = $1 AND subject = $2 ORDER BY channel

-- name: consent_word
-- Whether the org has the dossier, and the consents of the dossier and the address: all that a new message needs.
SELECT (SELECT d.id FROM dossier d WHERE d.id = $2 AND d.org_id = $1),
    (SELECT c.status FROM consent c WHERE c.org_id = $1 AND c.subject = $3 AND c.channel = $5),
    (SELECT c.status FROM consent c WHERE c.org_id = $1 AND c.subject = $4 AND c.channel = $5)
