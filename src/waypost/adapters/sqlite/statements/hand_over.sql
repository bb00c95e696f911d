-- name: hand_over_told
-- The items of several feeds between two numbers each, as far as archiving needs them. A message that is in several
-- users' feeds is taken from its sender's.
SELECT i.feed, i.seq, i.at, i.kind, i.conversation_id, c.org_id, d.status, d.read_at, d.generation, {entry}
FROM json_each($1) AS u CROSS JOIN feed_item i ON i.feed = u.value
    AND i.seq > json_extract($2, '$[' || u.key || ']') AND i.seq <= json_extract($3, '$[' || u.key || ']')
LEFT JOIN conversation c ON c.id = i.conversation_id
LEFT JOIN entry e ON e.conversation_id = i.conversation_id AND i.kind <> 'joined'
    AND e.position = CASE WHEN i.kind = 'deleted' THEN json_extract(i.body, '$.position') ELSE i.position END
    AND (i.feed NOT LIKE 'user:%' OR i.feed = 'user:' || e.sender)
LEFT JOIN delivery d ON d.message_id = e.message_id
WHERE i.kind IN ('message', 'deleted', 'status') OR (i.kind = 'joined' AND i.feed LIKE 'team:%')
ORDER BY i.feed, i.seq

-- name: handed_over_entries
-- The messages of archived ranges whose bodies are still in the Ledger, with their length and whether the bot still has
-- to answer them, and those that were erased.
SELECT i.feed, i.seq, e.conversation_id, e.position, e.id_at, length(e.body), e.deleted_at IS NOT NULL,
    coalesce(l.floor = 'bot' AND e.position > l.done AND e.position <= l.tail, FALSE)
FROM json_each($1) AS u CROSS JOIN feed_item i ON i.feed = u.value
    AND i.seq > json_extract($2, '$[' || u.key || ']') AND i.seq <= json_extract($3, '$[' || u.key || ']')
    AND i.kind IN ('message', 'deleted')
CROSS JOIN entry e ON e.conversation_id = i.conversation_id
    AND e.position = CASE WHEN i.kind = 'deleted' THEN json_extract(i.body, '$.position') ELSE i.position END
    AND (i.feed NOT LIKE 'user:%' OR i.feed = 'user:' || e.sender)
    AND e.kept_in IS NULL AND e.body <> '' AND (i.kind = 'deleted') = (e.deleted_at IS NOT NULL)
LEFT JOIN lane l ON l.conversation_id = i.conversation_id
