-- name: chat_open
-- A concurrent transaction that opens the same chat waits here, and then gets no row.
INSERT INTO conversation (org_id, kind, number, address, position, last_id_at, created_at, title, pair, history)
VALUES ($1, $2, '', '', 0, $3, $3, $4, $5, $6) ON CONFLICT (org_id, pair) WHERE pair IS NOT NULL DO NOTHING
RETURNING org_id, pair, id

-- name: chat_by_pair
-- The direct chat of two users that another transaction opened first.
SELECT org_id, pair, id FROM conversation WHERE org_id = $1 AND pair = $2

-- name: chat_lock
-- In the order of their ids, after every conversation with a customer.
SELECT {chat} FROM conversation c WHERE c.id = $1 AND c.pair IS NOT NULL

-- name: chat_put
-- What a post or a change leaves: last position, title, and whether the group has a feed of its own.
UPDATE conversation SET position = $2, last_id_at = $3, title = $4, own_feed = $5 WHERE id = $1

-- name: work_put
-- Who handles a customer conversation, whether it is open, and its labels.
UPDATE conversation SET assignee = $2, state = $3, labels = $4 WHERE id = $1

-- name: members_of
-- All members, for chats whose items go to the members' own feeds, or whose members change.
SELECT conversation_id, user_id, sees_after, feed_from, joined_at FROM member WHERE conversation_id = $1

-- name: member_find
-- One member, for posts in groups with a feed of their own.
SELECT conversation_id, user_id, sees_after, feed_from, joined_at FROM member
WHERE conversation_id = $1 AND user_id = $2

-- name: member_put
-- A member who is there already keeps what they may see; only the start of the group's feed changes.
INSERT INTO member (conversation_id, user_id, sees_after, feed_from, joined_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (conversation_id, user_id) DO UPDATE SET feed_from = excluded.feed_from

-- name: member_drop
-- Ends a membership.
DELETE FROM member WHERE conversation_id = $1 AND user_id = $2

-- name: post_find
SELECT sender, client_message_id, conversation_id, position, id_at, digest FROM post
WHERE sender = $1 AND client_message_id = $2

-- name: post_insert
-- No row if the sender used this client_message_id before: the post is a duplicate.
INSERT INTO post (sender, client_message_id, conversation_id, position, id_at, digest) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (sender, client_message_id) DO NOTHING RETURNING sender

-- name: entry_find
-- One entry by its place, for deletions.
SELECT {entry} FROM entry e WHERE e.conversation_id = $1 AND e.position = $2

-- name: entry_erase
-- Only its position stays.
UPDATE entry SET body = '{}', type = 'deleted', deleted_at = $3 WHERE conversation_id = $1 AND position = $2

-- name: entry_of_message
-- Where a conversation shows an outbound message, to show its new status there.
SELECT e.message_id, e.conversation_id, e.position, e.id_at FROM entry e WHERE e.message_id = $1

-- name: read_find
-- How far a user has read.
SELECT user_id, conversation_id, position FROM read_marker WHERE user_id = $1 AND conversation_id = $2

-- name: read_put
-- The caller never moves it back.
INSERT INTO read_marker (user_id, conversation_id, position, at) VALUES ($1, $2, $3, $4)
ON CONFLICT (user_id, conversation_id) DO UPDATE SET position = excluded.position, at = excluded.at

-- name: reads_of
-- The read markers of a chat.
SELECT user_id, conversation_id, position FROM read_marker WHERE conversation_id = $1

-- name: chat_get
-- A direct or group chat: only those have a pair.
SELECT {chat} FROM conversation c WHERE c.id = $1 AND c.org_id = $2 AND c.pair IS NOT NULL

-- name: chats_of
-- The chats of a user, the most recently active first.
SELECT {chat} FROM member m JOIN conversation c ON c.id = m.conversation_id
WHERE m.user_id = $1 AND (c.last_id_at, c.id) < ($2, $3) AND ($5 = '' OR c.kind = $5)
ORDER BY c.last_id_at DESC, c.id DESC LIMIT $4

-- name: talks_latest
-- A page of customer conversations, the latest activity first.
SELECT {conversation} FROM conversation c
WHERE c.org_id = $1 AND c.kind = 'customer' AND (c.last_id_at, c.id) < ($2, $3)
ORDER BY c.last_id_at DESC, c.id DESC LIMIT $4

-- name: talks_assigned
-- The same, for one assignee.
SELECT {conversation} FROM conversation c
WHERE c.org_id = $1 AND c.assignee = $5 AND (c.last_id_at, c.id) < ($2, $3)
ORDER BY c.last_id_at DESC, c.id DESC LIMIT $4

-- name: talks_closed
-- The same, for closed ones.
SELECT {conversation} FROM conversation c
WHERE c.org_id = $1 AND c.state = 'closed' AND (c.last_id_at, c.id) < ($2, $3)
ORDER BY c.last_id_at DESC, c.id DESC LIMIT $4

-- name: talks_of_people
-- Conversations whose floor a user has: a named one, or any.
SELECT {conversation} FROM lane l JOIN conversation c ON c.id = l.conversation_id
WHERE l.org_id = $1 AND l.floor <> 'bot' AND l.floor = $5 AND (c.last_id_at, c.id) < ($2, $3)
ORDER BY c.last_id_at DESC, c.id DESC LIMIT $4

-- name: groups_followed
-- The user's groups that have a feed of their own.
SELECT c.id, m.feed_from FROM member m JOIN conversation c ON c.id = m.conversation_id
WHERE m.user_id = $1 AND c.own_feed

-- name: feed_oldest
-- The oldest item that is still kept, to tell a device whether it missed pruned ones.
SELECT i.seq FROM feed_item i WHERE i.feed = $1 AND i.seq > $2 ORDER BY i.seq LIMIT 1

-- name: device_open
-- A known device keeps its epoch; seen_at always grows.
INSERT INTO device (user_id, device_id, org_id, epoch, created_at, seen_at) VALUES ($1, $2, $3, $4, $5, $5)
ON CONFLICT (user_id, device_id) DO UPDATE SET seen_at = max(excluded.seen_at, seen_at + 1)
RETURNING user_id, device_id, org_id, epoch, created_at, seen_at, push

-- name: devices_of
-- The user's devices, oldest first.
SELECT user_id, device_id, org_id, epoch, created_at, seen_at, push FROM device
WHERE user_id = $1 ORDER BY created_at, device_id

-- name: device_seen
UPDATE device SET seen_at = $3 WHERE user_id = $1 AND device_id = $2 AND seen_at < $3

-- name: devices_look
-- By primary key: an index by age would cost a write with each connection.
SELECT d.user_id, d.device_id, d.seen_at, d.push IS NOT NULL,
    EXISTS (SELECT 1 FROM person p WHERE p.id = d.user_id)
FROM device d WHERE (d.user_id, d.device_id) > ($1, $2) ORDER BY d.user_id, d.device_id LIMIT $3

-- name: device_forget
-- A device that has connected or subscribed since the read stays.
DELETE FROM device WHERE user_id = $1 AND device_id = $2 AND seen_at < $3 AND push IS NULL RETURNING user_id, device_id

-- name: devices_of_person_drop
-- A removed user's devices.
DELETE FROM device WHERE user_id = $1

-- name: cursors_of_person_drop
-- And their positions.
DELETE FROM device_cursor WHERE user_id = $1

-- name: device_cursors
-- The positions of all devices of a user.
SELECT device_id, feed, seq FROM device_cursor WHERE user_id = $1

-- name: cursor_put
-- Only forwards: a late ack changes nothing, and creates no cursor for a removed device.
INSERT INTO device_cursor (user_id, device_id, feed, seq)
SELECT d.user_id, d.device_id, $3, $4 FROM device d WHERE d.user_id = $1 AND d.device_id = $2
ON CONFLICT (user_id, device_id, feed) DO UPDATE SET seq = excluded.seq WHERE device_cursor.seq < excluded.seq

-- name: cursors_drop
-- The positions of a device that is removed.
DELETE FROM device_cursor WHERE user_id = $1 AND device_id = $2

-- name: device_drop
-- No row if the user has no such device.
DELETE FROM device WHERE user_id = $1 AND device_id = $2 RETURNING device_id

-- name: feed_find
-- The heads of large groups' feeds, without a lock.
SELECT name, head FROM feed WHERE name = $1

-- name: member_find_one
-- Whether a user is a member of a chat, and what they may see.
SELECT conversation_id, user_id, sees_after, feed_from, joined_at FROM member
WHERE conversation_id = $1 AND user_id = $2

-- name: cursors_of
-- The positions of the devices that connect in one batch.
SELECT user_id, device_id, feed, seq FROM device_cursor WHERE user_id = $1 AND device_id = $2

-- name: posts_move
-- Runs before the entries move, because it finds the rows through them.
UPDATE post SET conversation_id = $2, position = position + $3, id_at = position + $6
WHERE (sender, client_message_id) IN (
    SELECT e.sender, e.client_message_id FROM entry e
    WHERE e.conversation_id = $1 AND e.position > $4 AND e.position <= $5 AND e.client_message_id IS NOT NULL
)

-- name: entry_append
-- Existing rows stay as they are.
INSERT INTO entry (conversation_id, position, id_at, at, sender, type, body, wamid, message_id, client_message_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (conversation_id, position) DO NOTHING

-- name: entry_settle
-- The status in the history store; a later generation or a higher status has a higher standing.
UPDATE entry SET standing = $4, status = $3
WHERE conversation_id = $1 AND position = $2 AND (standing IS NULL OR standing < $4)
