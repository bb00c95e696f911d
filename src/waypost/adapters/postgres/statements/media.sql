-- name: media_insert (set-wise)
INSERT INTO media (org_id, number, conversation_id, position, provider_id, mime_type, told_sha256, filename, state, tries,
    due_at, created_at)
SELECT u.org_id, u.number, u.conversation_id, u.place, u.provider_id, u.mime_type, u.told_sha256, u.filename, 'pending', 0,
    u.now, u.now
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::bigint[])
    AS u (org_id, number, conversation_id, place, provider_id, mime_type, told_sha256, filename, now)
ON CONFLICT (conversation_id, position) DO NOTHING

-- name: media_claim
-- Skips locked rows: another process may be claiming them.
UPDATE media SET tries = tries + 1, owner = $1, due_at = $2
WHERE id IN (SELECT id FROM media WHERE due_at <= $3 ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
RETURNING {media}

-- name: media_erase (set-wise)
UPDATE media m SET state = 'erased', due_at = NULL, owner = NULL, created_at = 0
FROM unnest($1::bigint[], $2::bigint[]) AS u (id, position) WHERE m.conversation_id = u.id AND m.position = u.position

-- name: media_forget (set-wise)
DELETE FROM media m USING unnest($1::bigint[]) AS u (id) WHERE m.id = u.id AND m.due_at IS NULL
