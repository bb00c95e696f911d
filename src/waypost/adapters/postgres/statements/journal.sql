-- name: journal_lock (set-wise)
SELECT j.id, j.org_id, j.number, j.kind, j.key, j.state
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u (org_id, number, kind, key)
JOIN journal j USING (number, kind, key) WHERE j.org_id = u.org_id
ORDER BY j.number, j.kind, j.key FOR UPDATE OF j

-- name: journal_mark (set-wise)
UPDATE journal SET state = u.state, error = u.error
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u (id, state, error) WHERE journal.id = u.id

-- name: word_put (set-wise)
INSERT INTO provider_word (org_id, topic, at, code, reason, until)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[])
    AS u (org_id, topic, at, code, reason, until)
ORDER BY org_id, topic
ON CONFLICT (org_id, topic) DO UPDATE
SET at = excluded.at, code = excluded.code, reason = excluded.reason, until = excluded.until
WHERE provider_word.at <= excluded.at
RETURNING org_id, topic

-- name: dossiers_reached (set-wise)
SELECT d.id, d.org_id, d.phone FROM unnest($1::text[], $2::text[]) AS u (org_id, phone)
JOIN dossier d ON d.org_id = u.org_id AND d.phone = u.phone

-- name: consent_told (set-wise)
INSERT INTO consent (org_id, subject, channel, status, at, heard_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    AS u (org_id, subject, channel, status, at, heard_at)
ORDER BY org_id, subject, channel
ON CONFLICT (org_id, subject, channel) DO UPDATE
SET status = excluded.status, at = excluded.at, heard_at = excluded.heard_at
WHERE consent.at <= excluded.at
RETURNING org_id, subject
