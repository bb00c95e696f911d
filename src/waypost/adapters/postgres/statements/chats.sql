-- name: chat_open (set-wise)
INSERT INTO conversation (org_id, kind, number, address, position, last_id_at, created_at, title, pair, history)
SELECT u.org_id, u.kind, '', '', 0, u.at, u.at, u.title, u.pair, u.history
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
    AS u (org_id, kind, at, title, pair, history)
ORDER BY u.org_id, u.pair
ON CONFLICT (org_id, pair) WHERE pair IS NOT NULL DO NOTHING
RETURNING org_id, pair, id

-- name: chat_by_pair (set-wise)
SELECT c.org_id, c.pair, c.id FROM unnest($1::text[], $2::text[]) AS u (org_id, pair)
CROSS JOIN LATERAL (SELECT * FROM conversation x WHERE x.org_id = u.org_id AND x.pair = u.pair LIMIT 1) c

-- name: chat_lock (set-wise)
SELECT {chat} FROM unnest($1::bigint[]) AS u (id) JOIN conversation c ON c.id = u.id AND c.pair IS NOT NULL
ORDER BY c.id FOR UPDATE OF c

-- name: chat_put (set-wise)
UPDATE conversation c SET position = u.position, last_id_at = u.last_id_at, title = u.title, own_feed = u.own_feed
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::boolean[])
    AS u (id, position, last_id_at, title, own_feed)
WHERE c.id = u.id

-- name: work_put (set-wise)
UPDATE conversation c SET assignee = u.assignee, state = u.state, labels = u.labels
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS u (id, assignee, state, labels)
WHERE c.id = u.id

-- name: members_of (set-wise)
SELECT m.conversation_id, m.user_id, m.sees_after, m.feed_from, m.joined_at
FROM unnest($1::bigint[]) AS u (id) JOIN member m ON m.conversation_id = u.id

-- name: member_find (set-wise)
SELECT m.conversation_id, m.user_id, m.sees_after, m.feed_from, m.joined_at
FROM unnest($1::bigint[], $2::text[]) AS u (id, user_id)
CROSS JOIN LATERAL (
    SELECT * FROM member x WHERE x.conversation_id = u.id AND x.user_id = u.user_id LIMIT 1
) m

-- name: member_put (set-wise)
INSERT INTO member (conversation_id, user_id, sees_after, feed_from, joined_at)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
ON CONFLICT (conversation_id, user_id) DO UPDATE SET feed_from = excluded.feed_from

-- name: member_drop (set-wise)
DELETE FROM member m USING unnest($1::bigint[], $2::text[]) AS u (id, user_id)
WHERE m.conversation_id = u.id AND m.user_id = u.user_id

-- name: post_find (set-wise)
-- Row by row: a join planned while the table was empty would scan all of it later.
SELECT p.sender, p.client_message_id, p.conversation_id, p.position, p.id_at, p.digest
FROM unnest($1::text[], $2::text[]) AS u (sender, id)
CROSS JOIN LATERAL (
    SELECT * FROM post x WHERE x.sender = u.sender AND x.client_message_id = u.id LIMIT 1
) p

-- name: post_insert (set-wise)
INSERT INTO post (sender, client_message_id, conversation_id, position, id_at, digest)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[]) AS u (s, c, w, p, i, d)
ORDER BY 1, 2
ON CONFLICT (sender, client_message_id) DO NOTHING RETURNING sender

-- name: entry_find (set-wise)
SELECT {entry} FROM unnest($1::bigint[], $2::bigint[]) AS u (id, position)
CROSS JOIN LATERAL (
    SELECT * FROM entry x WHERE x.conversation_id = u.id AND x.position = u.position LIMIT 1
) e

-- name: entry_erase (set-wise)
UPDATE entry e SET body = '{}', type = 'deleted', deleted_at = u.at
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (id, position, at)
WHERE e.conversation_id = u.id AND e.position = u.position

-- name: entry_of_message (set-wise)
SELECT e.message_id, e.conversation_id, e.position, e.id_at FROM unnest($1::bigint[]) AS u (id)
CROSS JOIN LATERAL (SELECT * FROM entry x WHERE x.message_id = u.id LIMIT 1) e

-- name: read_find (set-wise)
SELECT r.user_id, r.conversation_id, r.position FROM unnest($1::text[], $2::bigint[]) AS u (user_id, id)
CROSS JOIN LATERAL (
    SELECT * FROM read_marker x WHERE x.user_id = u.user_id AND x.conversation_id = u.id LIMIT 1
) r

-- name: read_put (set-wise)
INSERT INTO read_marker (user_id, conversation_id, position, at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS u (user_id, id, position, at) ORDER BY 1, 2
ON CONFLICT (user_id, conversation_id) DO UPDATE SET position = excluded.position, at = excluded.at

-- name: device_open (set-wise)
INSERT INTO device (user_id, device_id, org_id, epoch, created_at, seen_at)
SELECT u.user_id, u.device_id, u.org_id, u.epoch, u.at, u.at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS u (user_id, device_id, org_id, epoch, at)
ORDER BY 1, 2
ON CONFLICT (user_id, device_id) DO UPDATE SET seen_at = greatest(excluded.seen_at, device.seen_at + 1)
RETURNING user_id, device_id, org_id, epoch, created_at, seen_at, push

-- name: device_seen (set-wise)
-- Skips locked rows: a locked device is connecting.
UPDATE device d SET seen_at = u.at FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u (user_id, device_id, at)
WHERE d.user_id = u.user_id AND d.device_id = u.device_id AND d.seen_at < u.at AND d.ctid = ANY(ARRAY(
    SELECT x.ctid FROM unnest($1::text[], $2::text[]) AS k (user_id, device_id)
    JOIN device x ON x.user_id = k.user_id AND x.device_id = k.device_id
    ORDER BY x.user_id, x.device_id FOR UPDATE OF x SKIP LOCKED
))

-- name: device_forget (set-wise)
-- Skips locked rows: another process may be pruning the device, or it is connecting.
DELETE FROM device WHERE ctid = ANY(ARRAY(
    SELECT d.ctid FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u (user_id, device_id, before)
    JOIN device d ON d.user_id = u.user_id AND d.device_id = u.device_id AND d.seen_at < u.before AND d.push IS NULL
    ORDER BY d.user_id, d.device_id FOR UPDATE OF d SKIP LOCKED
)) RETURNING user_id, device_id

-- name: cursors_drop (set-wise)
DELETE FROM device_cursor c USING unnest($1::text[], $2::text[]) AS u (user_id, device_id)
WHERE c.user_id = u.user_id AND c.device_id = u.device_id

-- name: cursors_of (set-wise)
SELECT c.user_id, c.device_id, c.feed, c.seq FROM unnest($1::text[], $2::text[]) AS u (user_id, device_id)
JOIN device_cursor c ON c.user_id = u.user_id AND c.device_id = u.device_id

-- name: cursor_put (set-wise)
INSERT INTO device_cursor (user_id, device_id, feed, seq)
SELECT u.* FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS u (user_id, device_id, feed, seq)
CROSS JOIN LATERAL (SELECT 1 FROM device x WHERE x.user_id = u.user_id AND x.device_id = u.device_id LIMIT 1) d
ORDER BY 1, 2, 3
ON CONFLICT (user_id, device_id, feed) DO UPDATE SET seq = excluded.seq WHERE device_cursor.seq < excluded.seq

-- name: feed_find (set-wise)
SELECT f.name, f.head FROM unnest($1::text[]) AS u (name) JOIN feed f ON f.name = u.name

-- name: feed_heads
-- The heads of several feeds at once.
SELECT f.name, f.head FROM unnest($1::text[]) AS u (name) JOIN feed f ON f.name = u.name

-- name: talks_shown
-- Customer conversations as a list shows them: the floor, the last entry, and the user's unread count.
SELECT {conversation}, l.floor, coalesce(r.position, 0), (
        SELECT count(*) FROM (
            SELECT 1 FROM entry x WHERE x.conversation_id = c.id AND x.position > coalesce(r.position, 0)
                AND x.position > c.position - 1000 AND x.sender = 'contact' LIMIT $4
        ) AS unread
    ), d.status, d.read_at, d.provider_id, d.error_code, d.error_message, p.expires_at, l.owner, l.due_at, {entry}
FROM unnest($3::bigint[]) AS u (id) JOIN conversation c ON c.id = u.id AND c.org_id = $1 AND c.kind = 'customer'
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
FROM unnest($2::bigint[]) AS u (id) JOIN conversation c ON c.id = u.id AND c.pair IS NOT NULL
JOIN member m ON m.conversation_id = c.id AND m.user_id = $1
LEFT JOIN entry e ON e.conversation_id = c.id AND e.position = c.position
LEFT JOIN read_marker r ON r.user_id = $1 AND r.conversation_id = c.id

-- name: feeds_told
-- The items of several feeds after a number each, with the current state of their entries.
SELECT i.feed, i.seq, i.at, i.kind, i.conversation_id, i.position, i.body, c.contact_id, d.status, d.read_at, c.number,
    d.provider_id, d.error_code, d.error_message, f.id, f.state, f.mime_type, f.filename, f.size, {entry}
FROM unnest($1::text[], $2::bigint[]) AS u (feed, after) CROSS JOIN LATERAL (
    SELECT * FROM feed_item x WHERE x.feed = u.feed AND x.seq > u.after ORDER BY x.seq LIMIT $3
) i
LEFT JOIN LATERAL (SELECT x.contact_id, x.number FROM conversation x WHERE x.id = i.conversation_id LIMIT 1) c ON TRUE
LEFT JOIN LATERAL (
    SELECT * FROM entry x
    WHERE i.kind = 'message' AND x.conversation_id = i.conversation_id AND x.position = i.position LIMIT 1
) e ON TRUE
LEFT JOIN LATERAL (
    SELECT x.status, x.read_at, x.provider_id, x.error_code, x.error_message FROM delivery x
    WHERE x.message_id = e.message_id LIMIT 1
) d ON TRUE
LEFT JOIN LATERAL (
    SELECT x.id, x.state, x.mime_type, x.filename, x.size FROM media x
    WHERE e.type IN ('image', 'audio', 'video', 'document', 'sticker')
        AND x.conversation_id = e.conversation_id AND x.position = e.position LIMIT 1
) f ON TRUE
ORDER BY i.feed, i.seq LIMIT $3

-- name: members_some
-- The members of several chats at once.
SELECT m.conversation_id, m.user_id, m.sees_after, m.feed_from, m.joined_at
FROM unnest($1::bigint[]) AS u (id) JOIN member m ON m.conversation_id = u.id

-- name: entry_append (set-wise)
INSERT INTO entry (conversation_id, position, id_at, at, sender, type, body, wamid, message_id, client_message_id)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::bigint[], $10::text[]) AS u (c, p, i, a, s, t, b, w, m, n)
ORDER BY 1, 2
ON CONFLICT (conversation_id, position) DO NOTHING

-- name: entry_settle (set-wise)
UPDATE entry e SET standing = u.standing, status = u.status
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) AS u (id, position, status, standing)
WHERE e.conversation_id = u.id AND e.position = u.position AND (e.standing IS NULL OR e.standing < u.standing)

-- name: person_tokens
-- The token digests of connected users: a connection whose token was replaced is closed.
SELECT p.id, p.digest FROM unnest($1::text[]) AS u (id) JOIN person p ON p.id = u.id
