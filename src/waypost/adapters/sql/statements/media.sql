-- name: media_insert
-- Together with the entry of its message; a duplicate message changes nothing.
INSERT INTO media (org_id, number, conversation_id, position, provider_id, mime_type, told_sha256, filename, state, tries,
    due_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', 0, $9, $9)
ON CONFLICT (conversation_id, position) DO NOTHING

-- name: media_move
-- When two contacts are merged, the entries of one conversation are appended to the other.
UPDATE media SET conversation_id = $2, position = position + $3
WHERE conversation_id = $1 AND position > $4 AND position <= $5

-- name: media_aside
-- As entries_aside: the files of a merged conversation.
UPDATE media SET position = -position WHERE conversation_id = $1 AND position > $2

-- name: media_back
-- As entries_back.
UPDATE media SET position = $2 - position WHERE conversation_id = $1 AND position < 0

-- name: media_claim
-- A claim only moves the due time by its lease, so that a dead worker's claim needs no release.
UPDATE media SET tries = tries + 1, owner = $1, due_at = $2
WHERE id IN (SELECT id FROM media WHERE due_at <= $3 ORDER BY due_at LIMIT $4)
RETURNING {media}

-- name: media_next_due
-- When the next file is due: until then the fetcher sleeps.
SELECT due_at FROM media WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1

-- name: media_stored
-- No row if another worker has claimed the file since.
UPDATE media SET state = 'stored', due_at = NULL, owner = NULL, key = $4, size = $5, sha256 = $6, mime_type = $7,
    error = NULL, stored_at = $8
WHERE id = $1 AND owner = $2 AND tries = $3
RETURNING id

-- name: media_again
-- The next attempt; no row if another worker has claimed the file since.
UPDATE media SET due_at = $4, owner = NULL, error = $5 WHERE id = $1 AND owner = $2 AND tries = $3 RETURNING id

-- name: media_failed
-- No more attempts; no row if another worker has claimed the file since.
UPDATE media SET state = 'failed', due_at = NULL, owner = NULL, error = $4
WHERE id = $1 AND owner = $2 AND tries = $3
RETURNING id

-- name: media_retry
-- An operator's retry starts the attempts anew.
UPDATE media SET state = 'pending', tries = 0, due_at = $3 WHERE org_id = $1 AND id = $2 AND state = 'failed'
RETURNING {media}

-- name: media_get
-- One file of the org; an erased one is gone.
SELECT {media} FROM media WHERE org_id = $1 AND id = $2 AND state <> 'erased'

-- name: media_between
-- The files of a part of a conversation.
SELECT {media} FROM media WHERE org_id = $1 AND conversation_id = $2 AND position BETWEEN $3 AND $4
    AND state <> 'erased'
ORDER BY position

-- name: media_of_state
-- The org's files in one state, newest first, below an id.
SELECT {media} FROM media WHERE org_id = $1 AND state = $2 AND id < $3 ORDER BY id DESC LIMIT $4

-- name: media_ended_before
-- By id for equal times: all files of deleted messages have the same.
SELECT {media} FROM media WHERE due_at IS NULL AND created_at < $1 AND (created_at, id) > ($3, $4)
ORDER BY created_at, id LIMIT $2

-- name: media_erase
-- Its message was deleted: given the oldest time, so that the next pruning removes it.
UPDATE media SET state = 'erased', due_at = NULL, owner = NULL, created_at = 0
WHERE conversation_id = $1 AND position = $2

-- name: media_forget
-- Only files that no worker fetches.
DELETE FROM media WHERE id = $1 AND due_at IS NULL
