-- name: hand_over_moved
-- Entries that a merge moved within or into a conversation, in order.
SELECT c.org_id, d.status, d.read_at, d.generation, {entry}
FROM conversation c JOIN entry e ON e.conversation_id = c.id
LEFT JOIN delivery d ON d.message_id = e.message_id
WHERE c.id = $1 AND e.position > $2 AND e.kept_in IS NOT NULL ORDER BY e.position LIMIT $3

-- name: handed_over_put
-- The range is archived; its bodies may be pruned after the grace time.
INSERT INTO handed_over (feed, since, upto, at) VALUES ($1, $2, $3, $4) ON CONFLICT (feed, upto) DO NOTHING

-- name: handed_over_between
-- Those confirmed between two times, the oldest first, with the search index's position in each feed.
SELECT h.feed, h.since, h.upto, h.at,
    coalesce((SELECT r.seq FROM feed_reader r WHERE r.reader = 'search' AND r.feed = h.feed), 0)
FROM handed_over h WHERE h.at >= $1 AND h.at <= $2 ORDER BY h.at LIMIT $3

-- name: handed_over_again
-- It counts as confirmed from then on: it was appended again, or cannot be emptied yet.
UPDATE handed_over SET at = $3 WHERE feed = $1 AND upto = $2

-- name: handed_over_drop
-- The bodies of this range are pruned, unless it was confirmed again since its time was read.
DELETE FROM handed_over WHERE feed = $1 AND upto = $2 AND at = $3 RETURNING feed, upto

-- name: entry_empty
-- Only the entry that the item refers to: a moved one has another id, an erased one is marked.
UPDATE entry SET body = '' WHERE conversation_id = $1 AND position = $2 AND id_at = $3
    AND kept_in IS NULL AND deleted_at IS NULL AND body <> ''
RETURNING position

-- name: entry_place_after
-- Skips a number of entries after a place.
SELECT e.conversation_id, e.position FROM entry e WHERE (e.conversation_id, e.position) > ($1, $2)
ORDER BY e.conversation_id, e.position LIMIT 1 OFFSET $3

-- name: entries_away_between
-- The archived entries between two places.
SELECT c.org_id, NULL, NULL, NULL, {entry} FROM entry e JOIN conversation c ON c.id = e.conversation_id
WHERE (e.conversation_id, e.position) > ($1, $2) AND (e.conversation_id, e.position) <= ($3, $4) AND e.body = ''
