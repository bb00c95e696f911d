-- name: hand_over_told
-- The items of several feeds between two numbers each, as far as archiving needs them. A message that is in several
-- users' feeds is taken from its sender's.
SELECT i.feed, i.seq, i.at, i.kind, i.conversation_id, c.org_id, d.status, d.read_at, d.generation, {entry}
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (feed, after, head) CROSS JOIN LATERAL (
    SELECT * FROM feed_item x WHERE x.feed = u.feed AND x.seq > u.after AND x.seq <= u.head
        AND (x.kind IN ('message', 'deleted', 'status') OR (x.kind = 'joined' AND x.feed LIKE 'team:%'))
    ORDER BY x.seq
) i
LEFT JOIN LATERAL (SELECT x.org_id FROM conversation x WHERE x.id = i.conversation_id LIMIT 1) c ON TRUE
LEFT JOIN LATERAL (
    SELECT * FROM entry x WHERE x.conversation_id = i.conversation_id AND i.kind <> 'joined'
        AND x.position = CASE WHEN i.kind = 'deleted' THEN (i.body::json ->> 'position')::bigint ELSE i.position END
        AND (i.feed NOT LIKE 'user:%' OR i.feed = 'user:' || x.sender)
    LIMIT 1
) e ON TRUE
LEFT JOIN LATERAL (
    SELECT x.status, x.read_at, x.generation FROM delivery x WHERE x.message_id = e.message_id LIMIT 1
) d ON TRUE
ORDER BY i.feed, i.seq

-- name: handed_over_put (set-wise)
INSERT INTO handed_over (feed, since, upto, at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS u (feed, since, upto, at)
ON CONFLICT (feed, upto) DO NOTHING

-- name: handed_over_entries
-- The messages of archived ranges whose bodies are still in the Ledger, with their length and whether the bot still has
-- to answer them, and those that were erased.
SELECT i.feed, i.seq, e.conversation_id, e.position, e.id_at, length(e.body), e.deleted_at IS NOT NULL,
    coalesce(l.floor = 'bot' AND e.position > l.done AND e.position <= l.tail, FALSE)
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (feed, after, head) CROSS JOIN LATERAL (
    SELECT * FROM feed_item x
    WHERE x.feed = u.feed AND x.seq > u.after AND x.seq <= u.head AND x.kind IN ('message', 'deleted') ORDER BY x.seq
) i
CROSS JOIN LATERAL (
    SELECT * FROM entry x WHERE x.conversation_id = i.conversation_id
        AND x.position = CASE WHEN i.kind = 'deleted' THEN (i.body::json ->> 'position')::bigint ELSE i.position END
        AND (i.feed NOT LIKE 'user:%' OR i.feed = 'user:' || x.sender)
        AND x.kept_in IS NULL AND x.body <> '' AND (i.kind = 'deleted') = (x.deleted_at IS NOT NULL)
    LIMIT 1
) e
LEFT JOIN LATERAL (
    SELECT x.floor, x.done, x.tail FROM lane x WHERE x.conversation_id = i.conversation_id LIMIT 1
) l ON TRUE

-- name: handed_over_again (set-wise)
UPDATE handed_over h SET at = u.at FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (feed, upto, at)
WHERE h.feed = u.feed AND h.upto = u.upto

-- name: handed_over_drop (set-wise)
DELETE FROM handed_over h USING unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (feed, upto, at)
WHERE h.feed = u.feed AND h.upto = u.upto AND h.at = u.at RETURNING h.feed, h.upto

-- name: entry_empty (set-wise)
-- Only the entry that the item refers to: a moved one has another id, an erased one is marked.
UPDATE entry e SET body = '' FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (id, position, id_at)
WHERE e.conversation_id = u.id AND e.position = u.position AND e.id_at = u.id_at
    AND e.kept_in IS NULL AND e.deleted_at IS NULL AND e.body <> ''
RETURNING e.position
