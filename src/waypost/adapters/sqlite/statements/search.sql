-- name: search_items
-- The items of several feeds between two numbers each, as far as the index needs them.
SELECT i.feed, i.seq, i.kind, i.conversation_id, i.body, c.org_id, c.kind, {entry}
FROM json_each($1) AS u CROSS JOIN feed_item i ON i.feed = u.value
    AND i.seq > json_extract($2, '$[' || u.key || ']') AND i.seq <= json_extract($3, '$[' || u.key || ']')
LEFT JOIN conversation c ON c.id = i.conversation_id
LEFT JOIN entry e ON e.conversation_id = i.conversation_id AND e.position = i.position AND i.kind = 'message'
WHERE i.kind IN ('message', 'deleted', 'joined')
ORDER BY i.feed, i.seq

-- name: search_find
-- The index itself reads from the newest to the oldest, and no further than the page.
SELECT s.id, c.contact_id, {entry}
FROM search_words CROSS JOIN search_entry s ON s.id = search_words.rowid
CROSS JOIN conversation c ON c.id = s.conversation_id AND c.org_id = $3
CROSS JOIN entry e ON e.conversation_id = s.conversation_id AND e.position = s.position AND e.deleted_at IS NULL
LEFT JOIN member m ON m.conversation_id = s.conversation_id AND m.user_id = $4
WHERE search_words MATCH $1 AND search_words.rowid < $2 AND (c.kind = 'customer' OR s.position > m.sees_after)
ORDER BY search_words.rowid DESC LIMIT $5
