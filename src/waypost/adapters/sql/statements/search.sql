-- name: search_put
-- Existing rows stay; the caller resolves two entries with the same id.
INSERT INTO search_entry (id, conversation_id, position, words) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING conversation_id, position

-- name: search_known
-- Which entries are in the index already, when an id was taken.
SELECT conversation_id, position FROM search_entry WHERE conversation_id = $1 AND position = $2

-- name: search_drop
-- A deleted entry.
DELETE FROM search_entry WHERE conversation_id = $1 AND position = $2

-- name: search_drop_all
-- A conversation that was merged into another.
DELETE FROM search_entry WHERE conversation_id = $1

-- name: search_said
-- All entries of a conversation with a body; the others were indexed before their bodies were archived.
SELECT c.org_id, c.kind, {entry} FROM conversation c JOIN entry e ON e.conversation_id = c.id
WHERE c.id = $1 AND e.deleted_at IS NULL AND e.body <> '' ORDER BY e.position

-- name: search_clear
-- Normally empty: moved rows must not collide with rows left at these positions by mistake.
DELETE FROM search_entry WHERE conversation_id = $1 AND position > $2 AND position <= $3

-- name: search_move
-- Together with its entries; the conversation is one of the indexed words.
UPDATE search_entry SET conversation_id = $2, position = position + $3,
    words = trim(replace(' ' || words || ' ', ' |c' || $1 || ' ', ' |c' || $2 || ' '))
WHERE conversation_id = $1 AND position > $4 AND position <= $5

-- name: search_aside
-- As entries_aside: the index of a merged conversation.
UPDATE search_entry SET position = -position WHERE conversation_id = $1 AND position > $2

-- name: search_back
-- As entries_back.
UPDATE search_entry SET position = $2 - position WHERE conversation_id = $1 AND position < 0

-- name: search_forget
-- Entries older than the index keeps, oldest first.
DELETE FROM search_entry WHERE id IN (SELECT s.id FROM search_entry s WHERE s.id < $1 ORDER BY s.id LIMIT $2)
RETURNING id
