-- name: quick_replies_of
-- By the bytes of the names, as SQLite orders them.
SELECT name, text, updated_at, updated_by FROM quick_reply WHERE org_id = $1 ORDER BY folded COLLATE "C"

-- name: quick_replies_lock
-- One writer per org at a time, so that two cannot both take the last free slot or the same name.
SELECT id FROM org WHERE id = $1 FOR NO KEY UPDATE
