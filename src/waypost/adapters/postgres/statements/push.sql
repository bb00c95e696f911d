-- name: notice_feed_hold
SELECT feed FROM notice_feed WHERE feed = $1 FOR UPDATE

-- name: notice_feed_lock (set-wise)
-- Skips feeds that another process is scanning, or that a device is subscribing to.
SELECT n.feed, n.seq FROM unnest($1::text[]) AS u (feed) JOIN notice_feed n ON n.feed = u.feed
ORDER BY n.feed FOR UPDATE OF n SKIP LOCKED

-- name: notice_feed_move (set-wise)
UPDATE notice_feed n SET seq = u.seq FROM unnest($1::text[], $2::bigint[]) AS u (feed, seq) WHERE n.feed = u.feed

-- name: notice_feed_join (set-wise)
INSERT INTO notice_feed (feed, seq) SELECT u.feed, u.seq FROM unnest($1::text[], $2::bigint[]) AS u (feed, seq)
ORDER BY u.feed ON CONFLICT (feed) DO NOTHING

-- name: notice_feeds_behind
SELECT n.feed FROM notice_feed n CROSS JOIN LATERAL (SELECT x.head FROM feed x WHERE x.name = n.feed LIMIT 1) f
WHERE n.feed > $1 AND f.head > n.seq ORDER BY n.feed LIMIT $2

-- name: notice_items (set-wise)
SELECT i.feed, i.seq, i.at, i.kind, i.conversation_id, i.position, CASE WHEN i.kind = 'joined' THEN i.body ELSE '' END,
    e.sender, e.type, l.floor, l.tail
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (feed, after, most) CROSS JOIN LATERAL (
    SELECT * FROM feed_item x WHERE x.feed = u.feed AND x.seq > u.after ORDER BY x.seq LIMIT u.most
) i
LEFT JOIN LATERAL (
    SELECT * FROM entry x
    WHERE i.kind = 'message' AND x.conversation_id = i.conversation_id AND x.position = i.position LIMIT 1
) e ON TRUE
LEFT JOIN LATERAL (SELECT x.floor, x.tail FROM lane x WHERE x.conversation_id = i.conversation_id LIMIT 1) l ON TRUE
ORDER BY i.feed, i.seq

-- name: notice_put (set-wise)
INSERT INTO notice (feed, conversation_id, position, seq, due_at, free_at, fence)
SELECT u.feed, u.id, u.position, u.seq, u.due_at, u.due_at, u.fence
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS u (feed, id, position, seq, due_at, fence)
ORDER BY u.feed, u.id
ON CONFLICT (feed, conversation_id) DO UPDATE SET
    position = greatest(excluded.position, notice.position), seq = excluded.seq,
    due_at = least(notice.due_at, excluded.due_at),
    free_at = CASE WHEN notice.owner IS NULL THEN least(excluded.free_at, notice.free_at) ELSE notice.free_at END

-- name: notices_due
-- Skips locked rows: another process may be taking them.
SELECT n.feed, n.conversation_id FROM notice n WHERE n.free_at <= $1 ORDER BY n.free_at LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: notice_take (set-wise)
UPDATE notice n SET owner = u.owner, fence = n.fence + 1, free_at = u.until, due_at = NULL
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS u (feed, id, owner, until)
WHERE n.feed = u.feed AND n.conversation_id = u.id
RETURNING n.feed, n.conversation_id, n.position, n.seq, n.fence

-- name: notice_lock
SELECT due_at FROM notice WHERE feed = $1 AND conversation_id = $2 AND fence = $3 AND owner IS NOT NULL FOR UPDATE

-- name: notice_told_put (set-wise)
INSERT INTO notice_told (user_id, device_id, conversation_id, position, told_at, at)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS u (user_id, device_id, id, position, told_at, at) ORDER BY 1, 2, 3
ON CONFLICT (user_id, device_id, conversation_id) DO UPDATE SET
    position = excluded.position, told_at = coalesce(excluded.told_at, notice_told.told_at), at = excluded.at

-- name: notices_forget
-- Skips locked rows: another process may be pruning them.
DELETE FROM notice_told WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM notice_told t WHERE t.at < $1 ORDER BY t.at LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING at
