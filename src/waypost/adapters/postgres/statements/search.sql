-- name: search_put (set-wise)
-- Existing rows stay; the caller resolves two entries with the same id.
INSERT INTO search_entry (id, conversation_id, position, words)
SELECT u.id, u.conversation_id, u.position, array_to_tsvector(string_to_array(u.words, ' '))
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS u (id, conversation_id, position, words)
ON CONFLICT DO NOTHING RETURNING conversation_id, position

-- name: search_known (set-wise)
SELECT s.conversation_id, s.position FROM unnest($1::bigint[], $2::bigint[]) AS u (conversation_id, position)
JOIN search_entry s ON s.conversation_id = u.conversation_id AND s.position = u.position

-- name: search_drop (set-wise)
DELETE FROM search_entry s USING unnest($1::bigint[], $2::bigint[]) AS u (conversation_id, position)
WHERE s.conversation_id = u.conversation_id AND s.position = u.position

-- name: search_drop_all (set-wise)
DELETE FROM search_entry s USING unnest($1::bigint[]) AS u (conversation_id)
WHERE s.conversation_id = u.conversation_id

-- name: search_move
-- Together with its entries; the conversation is one of the indexed words.
UPDATE search_entry SET conversation_id = $2::bigint, position = position + $3,
    words = array_to_tsvector(array_replace(tsvector_to_array(words), '|c' || $1::bigint, '|c' || $2::bigint))
WHERE conversation_id = $1::bigint AND position > $4 AND position <= $5

-- name: search_items
-- The items of several feeds between two numbers each, as far as the index needs them.
SELECT i.feed, i.seq, i.kind, i.conversation_id, i.body, c.org_id, c.kind, {entry}
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (feed, after, head) CROSS JOIN LATERAL (
    SELECT * FROM feed_item x
    WHERE x.feed = u.feed AND x.seq > u.after AND x.seq <= u.head AND x.kind IN ('message', 'deleted', 'joined')
    ORDER BY x.seq
) i
LEFT JOIN LATERAL (SELECT x.org_id, x.kind FROM conversation x WHERE x.id = i.conversation_id LIMIT 1) c ON TRUE
LEFT JOIN LATERAL (
    SELECT * FROM entry x
    WHERE i.kind = 'message' AND x.conversation_id = i.conversation_id AND x.position = i.position LIMIT 1
) e ON TRUE
ORDER BY i.feed, i.seq

-- name: search_find
-- The query has SQLite's form: "a" "b"*. The word index returns all matches at once and unordered: good for rare words,
-- bad for common ones. So the newest entries are scanned first, in order; if they fill a page, the word index is not
-- used at all.
WITH wanted AS MATERIALIZED (
    SELECT replace(replace(replace($1::text, '"', ''''), '*', ':*'), ' ', ' & ')::tsquery AS words
), near AS MATERIALIZED (
    SELECT s.id, s.conversation_id, s.position, c.contact_id
    FROM (SELECT * FROM search_entry x WHERE x.id < $2 ORDER BY x.id DESC LIMIT 5000) s
    CROSS JOIN LATERAL (
        SELECT x.contact_id, x.kind FROM conversation x WHERE x.id = s.conversation_id AND x.org_id = $3 LIMIT 1
    ) c
    CROSS JOIN LATERAL (
        SELECT 1 FROM entry x
        WHERE x.conversation_id = s.conversation_id AND x.position = s.position AND x.deleted_at IS NULL LIMIT 1
    ) e
    LEFT JOIN LATERAL (
        SELECT x.sees_after FROM member x WHERE x.conversation_id = s.conversation_id AND x.user_id = $4 LIMIT 1
    ) m ON TRUE
    WHERE s.words @@ (SELECT w.words FROM wanted w)
        AND (c.kind = 'customer' OR s.position > m.sees_after)
    ORDER BY s.id DESC LIMIT $5
), far AS MATERIALIZED (
    -- Sorted by an expression that no index has: otherwise a missing word would make the planner walk all entries.
    SELECT s.id, s.conversation_id, s.position, c.contact_id
    FROM (
        SELECT x.id + 0 AS id, x.conversation_id, x.position FROM search_entry x
        WHERE (SELECT count(*) FROM near) < $5
            AND x.words @@ (SELECT w.words FROM wanted w)
            AND x.id < coalesce((SELECT min(n.id) FROM near n), $2)
        ORDER BY x.id + 0 DESC
    ) s
    CROSS JOIN LATERAL (
        SELECT x.contact_id, x.kind FROM conversation x WHERE x.id = s.conversation_id AND x.org_id = $3 LIMIT 1
    ) c
    CROSS JOIN LATERAL (
        SELECT 1 FROM entry x
        WHERE x.conversation_id = s.conversation_id AND x.position = s.position AND x.deleted_at IS NULL LIMIT 1
    ) e
    LEFT JOIN LATERAL (
        SELECT x.sees_after FROM member x WHERE x.conversation_id = s.conversation_id AND x.user_id = $4 LIMIT 1
    ) m ON TRUE
    WHERE c.kind = 'customer' OR s.position > m.sees_after
    ORDER BY s.id DESC LIMIT $5
)
SELECT s.id, s.contact_id, {entry} FROM (SELECT * FROM near UNION ALL SELECT * FROM far) s
CROSS JOIN LATERAL (
    SELECT * FROM entry x WHERE x.conversation_id = s.conversation_id AND x.position = s.position LIMIT 1
) e
ORDER BY s.id DESC LIMIT $5
