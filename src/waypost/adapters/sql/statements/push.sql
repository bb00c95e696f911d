-- name: device_org
-- Whose device it is.
SELECT org_id FROM device WHERE user_id = $1 AND device_id = $2

-- name: device_push
-- A wait that the former subscription's service asked for does not apply to the new one.
UPDATE device SET push = $3, push_after = NULL, push_failures = 0 WHERE user_id = $1 AND device_id = $2
RETURNING device_id

-- name: device_push_elsewhere
-- A browser has one subscription, whichever user signs in.
UPDATE device SET push = NULL, push_after = NULL, push_failures = 0
WHERE org_id = $1 AND push IS NOT NULL AND push = $2 AND (user_id <> $3 OR device_id <> $4) RETURNING user_id

-- name: device_unpush
-- Only if it is still this subscription.
UPDATE device SET push = NULL, push_after = NULL, push_failures = 0
WHERE user_id = $1 AND device_id = $2 AND push = $3 RETURNING device_id

-- name: device_put_off
-- The push service asked us to wait, or failed: the device waits longer each time.
UPDATE device SET push_after = $3, push_failures = push_failures + 1 WHERE user_id = $1 AND device_id = $2

-- name: device_went_well
-- The push service works for this device again.
UPDATE device SET push_failures = 0 WHERE user_id = $1 AND device_id = $2 AND push_failures > 0

-- name: notice_feed_begin
-- Start scanning from now on; an existing row is locked all the same.
INSERT INTO notice_feed (feed, seq) VALUES ($1, coalesce((SELECT f.head FROM feed f WHERE f.name = $1), 0))
ON CONFLICT (feed) DO UPDATE SET seq = notice_feed.seq

-- name: notice_feed_join
-- From here on the feed's items may cause notifications; a feed that is followed keeps its place.
INSERT INTO notice_feed (feed, seq) VALUES ($1, $2) ON CONFLICT (feed) DO NOTHING

-- name: notice_feed_hold
-- Locks the team's feed, so that a device that subscribes meanwhile is not missed.
SELECT feed FROM notice_feed WHERE feed = $1

-- name: notice_feed_leave
-- If none of these users has a subscription any more.
DELETE FROM notice_feed WHERE feed = $1
    AND NOT EXISTS (SELECT 1 FROM device d WHERE d.user_id = $2 AND d.push IS NOT NULL)

-- name: notice_feed_leave_team
-- When the last device of the org has unsubscribed.
DELETE FROM notice_feed WHERE feed = $1
    AND NOT EXISTS (SELECT 1 FROM device d WHERE d.org_id = $2 AND d.push IS NOT NULL)

-- name: notice_feed_leave_group
-- When the last device of the group's members has unsubscribed.
DELETE FROM notice_feed WHERE feed = $1 AND NOT EXISTS (
    SELECT 1 FROM member m JOIN device d ON d.user_id = m.user_id AND d.push IS NOT NULL WHERE m.conversation_id = $2
)

-- name: notice_feeds_behind
-- In the order of their names, so that a scan is complete when it reaches the end.
SELECT n.feed FROM notice_feed n CROSS JOIN feed f
WHERE n.feed > $1 AND f.name = n.feed AND f.head > n.seq ORDER BY n.feed LIMIT $2

-- name: notice_feed_lock
SELECT feed, seq FROM notice_feed WHERE feed = $1

-- name: notice_feed_move
-- The items up to here have been looked at.
UPDATE notice_feed SET seq = $2 WHERE feed = $1

-- name: notice_items
-- Feed items with what decides about a notification: sender, type and who has the floor.
SELECT i.feed, i.seq, i.at, i.kind, i.conversation_id, i.position, CASE WHEN i.kind = 'joined' THEN i.body ELSE '' END,
    e.sender, e.type, l.floor, l.tail
FROM feed_item i
LEFT JOIN entry e ON i.kind = 'message' AND e.conversation_id = i.conversation_id AND e.position = i.position
LEFT JOIN lane l ON l.conversation_id = i.conversation_id
WHERE i.feed = $1 AND i.seq > $2 ORDER BY i.seq LIMIT $3

-- name: notice_put
-- Further messages neither postpone a notification nor take it from the worker that holds it.
INSERT INTO notice (feed, conversation_id, position, seq, due_at, free_at, fence) VALUES ($1, $2, $3, $4, $5, $5, $6)
ON CONFLICT (feed, conversation_id) DO UPDATE SET
    position = CASE WHEN excluded.position > notice.position THEN excluded.position ELSE notice.position END,
    seq = excluded.seq,
    due_at = CASE WHEN notice.due_at < excluded.due_at THEN notice.due_at ELSE excluded.due_at END,
    free_at = CASE
        WHEN notice.owner IS NULL AND excluded.free_at < notice.free_at THEN excluded.free_at ELSE notice.free_at
    END

-- name: notices_due
SELECT n.feed, n.conversation_id FROM notice n WHERE n.free_at <= $1 ORDER BY n.free_at LIMIT $2

-- name: notice_take
-- A worker takes the notification; a newer item sets due_at again meanwhile.
UPDATE notice SET owner = $3, fence = fence + 1, free_at = $4, due_at = NULL WHERE feed = $1 AND conversation_id = $2
RETURNING feed, conversation_id, position, seq, fence

-- name: notice_lock
-- No row if another worker has taken the notification since.
SELECT due_at FROM notice WHERE feed = $1 AND conversation_id = $2 AND fence = $3 AND owner IS NOT NULL

-- name: notice_drop
-- Every device was notified or needs no notification.
DELETE FROM notice WHERE feed = $1 AND conversation_id = $2

-- name: notice_again
-- Some devices are notified later.
UPDATE notice SET owner = NULL, due_at = $3, free_at = $3 WHERE feed = $1 AND conversation_id = $2

-- name: notice_next
-- When the next notification is due: until then the worker sleeps.
SELECT n.free_at FROM notice n WHERE n.free_at > 0 ORDER BY n.free_at LIMIT 1

-- name: notice_talk
-- The message of a notification: the latest one up to that position that is not deleted; no row if there is none.
SELECT c.org_id, c.kind, c.title, c.address, c.assignee, l.floor, k.name, p.name, {entry}
FROM conversation c JOIN entry e ON e.conversation_id = c.id AND e.position = (
    SELECT x.position FROM entry x WHERE x.conversation_id = $1 AND x.position <= $2 AND x.deleted_at IS NULL
    ORDER BY x.position DESC LIMIT 1
)
LEFT JOIN lane l ON l.conversation_id = c.id
LEFT JOIN contact k ON k.id = c.contact_id
LEFT JOIN person p ON p.id = e.sender
WHERE c.id = $1

-- name: notice_listeners_team
-- All subscribed devices of the org: their position in the conversation, and the number of unread messages.
SELECT d.user_id, d.device_id, d.push, d.push_after, d.push_failures,
    (SELECT max(x.seen_at) FROM device x WHERE x.user_id = d.user_id), coalesce(r.position, 0),
    (
        SELECT count(*) FROM device_cursor x
        WHERE x.user_id = d.user_id AND x.feed = 'team:' || d.org_id AND x.seq >= $3
    ), (
        SELECT count(*) FROM (
            SELECT 1 FROM entry x WHERE x.conversation_id = $2 AND x.position > coalesce(r.position, 0)
                AND x.sender = 'contact' LIMIT $4
        ) AS unread
    ), t.position, t.told_at
FROM device d JOIN person p ON p.id = d.user_id AND p.org_id = d.org_id
LEFT JOIN read_marker r ON r.user_id = d.user_id AND r.conversation_id = $2
LEFT JOIN notice_told t ON t.user_id = d.user_id AND t.device_id = d.device_id AND t.conversation_id = $2
WHERE d.org_id = $1 AND d.push IS NOT NULL

-- name: notice_listeners_chat
-- The same for a chat's members: one of them or all, if they may see the message.
SELECT d.user_id, d.device_id, d.push, d.push_after, d.push_failures,
    (SELECT max(x.seen_at) FROM device x WHERE x.user_id = d.user_id), coalesce(r.position, 0),
    (SELECT count(*) FROM device_cursor x WHERE x.user_id = d.user_id AND x.feed = $1 AND x.seq >= $3), (
        SELECT count(*) FROM (
            SELECT 1 FROM entry x WHERE x.conversation_id = $2 AND x.position > m.sees_after
                AND x.position > coalesce(r.position, 0) AND x.sender <> d.user_id LIMIT $4
        ) AS unread
    ), t.position, t.told_at
FROM member m JOIN device d ON d.user_id = m.user_id AND d.push IS NOT NULL
JOIN person p ON p.id = d.user_id AND p.org_id = d.org_id
LEFT JOIN read_marker r ON r.user_id = d.user_id AND r.conversation_id = $2
LEFT JOIN notice_told t ON t.user_id = d.user_id AND t.device_id = d.device_id AND t.conversation_id = $2
WHERE m.conversation_id = $2 AND m.sees_after < $6 AND ($5 = '' OR m.user_id = $5)

-- name: notice_told_put
-- Up to which message a device was notified, so that it is notified once.
INSERT INTO notice_told (user_id, device_id, conversation_id, position, told_at, at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (user_id, device_id, conversation_id) DO UPDATE SET
    position = excluded.position, told_at = coalesce(excluded.told_at, notice_told.told_at), at = excluded.at

-- name: notices_forget
DELETE FROM notice_told WHERE (user_id, device_id, conversation_id) IN (
    SELECT t.user_id, t.device_id, t.conversation_id FROM notice_told t WHERE t.at < $1 ORDER BY t.at LIMIT $2
) RETURNING at
