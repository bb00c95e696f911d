-- For a whole batch at once: see outbox.sql.

-- name: talk_find (set-wise)
SELECT json_group_array(json_array(a.org_id, a.address, u.value ->> 2, a.contact_id, k.name, k.username, c.id, k.dossier_id))
FROM json_each($1) AS u
CROSS JOIN contact_address a ON a.org_id = u.value ->> 0 AND a.address = u.value ->> 1
CROSS JOIN contact k ON k.id = a.contact_id
LEFT JOIN conversation c ON c.contact_id = a.contact_id AND c.number = u.value ->> 2

-- name: talk_lock (set-wise)
SELECT json_group_array(json_array({conversation}, {lane}))
FROM json_each($1) AS u CROSS JOIN conversation c ON c.id = u.value ->> 0 CROSS JOIN lane l ON l.conversation_id = c.id

-- name: arrival_find (set-wise)
SELECT json_group_array(json_array(a.number, a.wamid))
FROM json_each($1) AS u CROSS JOIN arrival a ON a.number = u.value ->> 0 AND a.wamid = u.value ->> 1

-- name: arrival_insert (set-wise)
INSERT INTO arrival (number, wamid, conversation_id, position, received_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each($1) WHERE TRUE
ON CONFLICT (number, wamid) DO NOTHING RETURNING number, wamid

-- name: entry_insert (set-wise)
INSERT INTO entry (conversation_id, position, id_at, at, sender, type, body, wamid, message_id, client_message_id)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
FROM json_each($1)

-- name: conversation_put (set-wise)
UPDATE conversation SET position = u.value ->> 1, last_id_at = u.value ->> 2, address = u.value ->> 3
FROM json_each($1) AS u WHERE conversation.id = u.value ->> 0

-- name: lane_put (set-wise)
UPDATE lane SET tail = u.value ->> 1, done = u.value ->> 2, hi = u.value ->> 3, fence = u.value ->> 4,
    first_at = u.value ->> 5, due_at = u.value ->> 6, owner = u.value ->> 7, claimed_at = u.value ->> 8,
    lease_until = u.value ->> 9, tries = u.value ->> 10, floor = u.value ->> 11
FROM json_each($1) AS u WHERE conversation_id = u.value ->> 0

-- name: feed_item_append (set-wise)
INSERT INTO feed_item (feed, seq, at, kind, conversation_id, position, body)
SELECT f.name, f.head - (u.value ->> 1), u.value ->> 2, u.value ->> 3, u.value ->> 4, u.value ->> 5, u.value ->> 6
FROM json_each($1) AS u CROSS JOIN feed f ON f.name = u.value ->> 0

-- name: pair_lock (set-wise)
SELECT json_group_array(json_array(p.sender, p.recipient, p.opened_at, p.last_inbound_at, p.expires_at, p.free_at,
    p.blocked_until, p.blocked_times, p.counted_at))
FROM json_each($1) AS u CROSS JOIN pair p ON p.sender = u.value ->> 0 AND p.recipient = u.value ->> 1

-- name: pair_put (set-wise)
INSERT INTO pair (sender, recipient, opened_at, last_inbound_at, expires_at, blocked_until, blocked_times)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
FROM json_each($1) WHERE TRUE
ON CONFLICT (sender, recipient) DO UPDATE SET opened_at = excluded.opened_at,
    last_inbound_at = excluded.last_inbound_at, expires_at = excluded.expires_at,
    blocked_until = excluded.blocked_until, blocked_times = excluded.blocked_times

-- name: conversation_of (set-wise)
SELECT json_group_array(json_array({conversation}))
FROM json_each($1) AS u CROSS JOIN conversation c ON c.id = u.value ->> 0

-- name: contact_of (set-wise)
SELECT json_group_array(json_array(k.id, k.org_id, k.name, k.username, k.dossier_id, a.address))
FROM json_each($1) AS u CROSS JOIN contact k ON k.id = u.value ->> 0 CROSS JOIN contact_address a ON a.contact_id = k.id

-- name: contact_in (set-wise)
SELECT json_group_array(json_array(k.id, k.org_id, k.name, k.username, k.dossier_id, a.address))
FROM json_each($1) AS u CROSS JOIN conversation c ON c.id = u.value ->> 0
CROSS JOIN contact k ON k.id = c.contact_id CROSS JOIN contact_address a ON a.contact_id = k.id

-- name: entries_between (set-wise)
SELECT json_group_array(json_array({entry}))
FROM json_each($1) AS u
CROSS JOIN entry e ON e.conversation_id = u.value ->> 0 AND e.position > u.value ->> 1 AND e.position <= u.value ->> 2
