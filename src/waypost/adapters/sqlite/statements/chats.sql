-- name: feed_heads
SELECT f.name, f.head FROM json_each($1) AS u CROSS JOIN feed f ON f.name = u.value

-- name: talks_shown
-- Customer conversations as a list shows them: the floor, the last entry, and the user's unread count.
SELECT {conversation}, l.floor, coalesce(r.position, 0), (
        SELECT count(*) FROM (
            SELECT 1 FROM entry x WHERE x.conversation_id = c.id AND x.position > coalesce(r.position, 0)
                AND x.position > c.position - 1000 AND x.sender = 'contact' LIMIT $4
        ) AS unread
    ), d.status, d.read_at, d.provider_id, d.error_code, d.error_message, p.expires_at, l.owner, l.due_at, {entry}
FROM json_each($3) AS u CROSS JOIN conversation c ON c.id = u.value AND c.org_id = $1 AND c.kind = 'customer'
JOIN lane l ON l.conversation_id = c.id
LEFT JOIN entry e ON e.conversation_id = c.id AND e.position = c.position
LEFT JOIN delivery d ON d.message_id = e.message_id
LEFT JOIN pair p ON p.sender = c.number AND p.recipient = c.address
LEFT JOIN read_marker r ON r.user_id = $2 AND r.conversation_id = c.id

-- name: chats_shown
-- Chats as a list shows them to a member; unread entries are counted among the latest thousand.
SELECT {chat}, coalesce(r.position, 0), (
        SELECT count(*) FROM (
            SELECT 1 FROM entry x WHERE x.conversation_id = c.id AND x.position > m.sees_after
                AND x.position > coalesce(r.position, 0) AND x.position > c.position - 1000 AND x.sender <> $1 LIMIT $3
        ) AS unread
    ), m.sees_after, {entry}
FROM json_each($2) AS u CROSS JOIN conversation c ON c.id = u.value AND c.pair IS NOT NULL
JOIN member m ON m.conversation_id = c.id AND m.user_id = $1
LEFT JOIN entry e ON e.conversation_id = c.id AND e.position = c.position
LEFT JOIN read_marker r ON r.user_id = $1 AND r.conversation_id = c.id

-- name: feeds_told
-- The items of several feeds after a number each, with the current state of their entries. Reads at most a page of each
-- feed, so that a long backlog is never sorted as a whole.
SELECT i.feed, i.seq, i.at, i.kind, i.conversation_id, i.position, i.body, c.contact_id, d.status, d.read_at, c.number,
    d.provider_id, d.error_code, d.error_message, f.id, f.state, f.mime_type, f.filename, f.size, {entry}
FROM json_each($1) AS u CROSS JOIN feed_item i ON i.feed = u.value AND i.seq > json_extract($2, '$[' || u.key || ']')
    AND i.seq < $3 + (
        SELECT min(x.seq) FROM feed_item x WHERE x.feed = u.value AND x.seq > json_extract($2, '$[' || u.key || ']')
    )
LEFT JOIN conversation c ON c.id = i.conversation_id
LEFT JOIN entry e ON e.conversation_id = i.conversation_id AND e.position = i.position AND i.kind = 'message'
LEFT JOIN delivery d ON d.message_id = e.message_id
LEFT JOIN media f ON f.conversation_id = e.conversation_id AND f.position = e.position
    AND e.type IN ('image', 'audio', 'video', 'document', 'sticker')
ORDER BY i.feed, i.seq LIMIT $3

-- name: members_some
SELECT m.conversation_id, m.user_id, m.sees_after, m.feed_from, m.joined_at
FROM json_each($1) AS u CROSS JOIN member m ON m.conversation_id = u.value

-- name: person_tokens
SELECT p.id, p.digest FROM json_each($1) AS u CROSS JOIN person p ON p.id = u.value
