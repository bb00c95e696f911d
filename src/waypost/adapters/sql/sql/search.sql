-- name: search_standing
-- Feeds in the order of their names, and up to where each is in the index.
SELECT f.name, f.head, coalesce(c.seq, 0) FROM feed f LEFT JOIN search_cursor c ON c.feed = f.name
WHERE f.name > $1 ORDER BY f.name LIMIT $2

-- name: search_cursor_ensure
INSERT INTO search_cursor (feed, seq) VALUES ($1, 0) ON CONFLICT (feed) DO NOTHING

-- name: search_cursor_move
-- Whoever comes second with the same items gets no row, and leaves it.
UPDATE search_cursor SET seq = $3 WHERE feed = $1 AND seq = $2 RETURNING feed

-- name: search_put
-- What is there already stays; two entries that would have one id are told apart by whoever calls.
INSERT INTO search_entry (id, conversation_id, position, words) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING conversation_id, position

-- name: search_known
SELECT conversation_id, position FROM search_entry WHERE conversation_id = $1 AND position = $2

-- name: search_drop
DELETE FROM search_entry WHERE conversation_id = $1 AND position = $2

-- name: search_drop_all
DELETE FROM search_entry WHERE conversation_id = $1

-- name: search_said
-- All of a conversation.
SELECT c.org_id, c.kind, {entry} FROM conversation c JOIN entry e ON e.conversation_id = c.id
WHERE c.id = $1 AND e.deleted_at IS NULL ORDER BY e.position

-- name: search_forget
DELETE FROM search_entry WHERE id IN (SELECT s.id FROM search_entry s WHERE s.id < $1 ORDER BY s.id LIMIT $2)
RETURNING id
