-- name: quick_replies_of
SELECT name, text, updated_at, updated_by FROM quick_reply WHERE org_id = $1 ORDER BY folded

-- name: quick_replies_lock
SELECT id FROM org WHERE id = $1

-- name: quick_replies_count
-- For the limit of quick replies per org.
SELECT count(*) FROM quick_reply WHERE org_id = $1

-- name: quick_reply_get
-- By its name in lower case.
SELECT name, text, updated_at, updated_by FROM quick_reply WHERE org_id = $1 AND folded = $2

-- name: quick_reply_put
-- A name in other case replaces the same quick reply.
INSERT INTO quick_reply (org_id, folded, name, text, updated_at, updated_by) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (org_id, folded) DO UPDATE SET name = excluded.name, text = excluded.text,
    updated_at = excluded.updated_at, updated_by = excluded.updated_by

-- name: quick_reply_delete
-- No row if there is none of this name.
DELETE FROM quick_reply WHERE org_id = $1 AND folded = $2 RETURNING name
