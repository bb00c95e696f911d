-- name: dossier_lock
SELECT id, org_id, phone, email, name, external_ref, status, created_at, updated_at
FROM dossier WHERE id = $2 AND org_id = $1 FOR UPDATE

-- name: consent_put (set-wise)
INSERT INTO consent (org_id, subject, channel, status, at, heard_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
ON CONFLICT (org_id, subject, channel) DO UPDATE
SET status = excluded.status, at = excluded.at, heard_at = excluded.heard_at

-- name: consent_find (set-wise)
SELECT c.org_id, c.subject, c.channel, c.status, c.at
FROM unnest($1::text[], $2::text[], $3::text[]) AS u (org_id, subject, channel)
JOIN consent c ON c.org_id = u.org_id AND c.subject = u.subject AND c.channel = u.channel

-- name: audit_insert (set-wise)
INSERT INTO audit (org_id, at, entity_type, entity_id, action, actor, details)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
