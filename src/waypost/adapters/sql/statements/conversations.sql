-- name: talk_find
-- The contact with this address, and their conversation with this number, if there is one.
SELECT a.org_id, a.address, $3, a.contact_id, k.name, k.username, c.id, k.dossier_id
FROM contact_address a JOIN contact k ON k.id = a.contact_id
LEFT JOIN conversation c ON c.contact_id = a.contact_id AND c.number = $3
WHERE a.org_id = $1 AND a.address = $2

-- name: contact_insert
-- The second transaction waits here for the first, and then gets no row.
INSERT INTO contact (org_id, met_as, name, username, dossier_id, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (org_id, met_as) DO NOTHING
RETURNING org_id, met_as, id

-- name: contact_address_insert
-- No row if the address belongs to a contact already.
INSERT INTO contact_address (org_id, address, contact_id) VALUES ($1, $2, $3)
ON CONFLICT (org_id, address) DO NOTHING RETURNING org_id, address

-- name: contact_rename
-- The name and username that the customer wrote under; NULL keeps the old one.
UPDATE contact SET name = coalesce($2, name), username = coalesce($3, username), updated_at = $4 WHERE id = $1

-- name: dossier_of
-- By the phone or, without one, by the reference.
SELECT org_id, phone, external_ref, id FROM dossier WHERE org_id = $1 AND phone = $2
UNION ALL SELECT org_id, phone, external_ref, id FROM dossier WHERE org_id = $1 AND external_ref = $3

-- name: dossier_open
-- No row if a dossier with this phone or reference exists; a concurrent insert waits for this one.
INSERT INTO dossier (org_id, phone, phone_alias, external_ref, name, status, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, 'NEW', $6, $6) ON CONFLICT DO NOTHING
RETURNING org_id, id

-- name: conversation_insert
-- No row if the contact has a conversation with this number.
INSERT INTO conversation (org_id, kind, number, contact_id, address, position, last_id_at, created_at)
VALUES ($1, 'customer', $2, $3, $4, 0, 0, $5) ON CONFLICT (contact_id, number) WHERE contact_id IS NOT NULL DO NOTHING
RETURNING id, contact_id, number, org_id

-- name: lane_insert
-- The turn state of a new conversation: the bot has the floor.
INSERT INTO lane (conversation_id, org_id, tail, done, fence, tries, floor) VALUES ($1, $2, 0, 0, 0, 0, 'bot')

-- name: talk_lock
-- The conversation and its turn state together, in the order of their ids: storing a message locks both.
SELECT {conversation}, {lane}
FROM conversation c JOIN lane l ON l.conversation_id = c.id WHERE c.id = $1

-- name: conversation_put
-- The last position, and the address that the customer last wrote from.
UPDATE conversation SET position = $2, last_id_at = $3, address = $4 WHERE id = $1

-- name: lane_put
-- The whole turn state, as the rules decided it; the row is locked.
UPDATE lane SET tail = $2, done = $3, hi = $4, fence = $5, first_at = $6, due_at = $7, owner = $8, claimed_at = $9,
    lease_until = $10, tries = $11, floor = $12
WHERE conversation_id = $1

-- name: arrival_find
SELECT number, wamid FROM arrival WHERE number = $1 AND wamid = $2

-- name: arrival_insert
-- No row if the message was received before: Meta delivers at least once.
INSERT INTO arrival (number, wamid, conversation_id, position, received_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (number, wamid) DO NOTHING RETURNING number, wamid

-- name: entry_insert
-- One message of a conversation; the position is drawn under the conversation's lock.
INSERT INTO entry (conversation_id, position, id_at, at, sender, type, body, wamid, message_id, client_message_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: told_before
-- The latest messages sent or queued to one address before a conversation could show them.
SELECT CAST($1 AS bigint), m.id, m.created_by, m.template, m.payload, m.created_at, m.scheduled_at
FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $2 AND m.sender = $3 AND m.recipient = $4 AND m.channel = 'WHATSAPP'
    AND d.talk IS NULL AND d.status NOT IN ('FAILED', 'CANCELLED')
ORDER BY m.id DESC LIMIT $5

-- name: message_unseen
-- The author of a message that no entry shows.
SELECT m.id, m.created_by FROM message m
WHERE m.id = $1 AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.message_id = m.id)

-- name: delivery_show
-- Status changes of a shown message go to the feed.
UPDATE delivery SET talk = $2 WHERE message_id = $1

-- name: turn_insert
-- The record of an ended turn.
INSERT INTO turn (conversation_id, hi, lo, org_id, state, replies, tries, fence, started_at, ended_at, error)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: feed_draw
-- The last lock of a transaction: the numbers that it draws become visible in order, without a gap.
INSERT INTO feed (name, head) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET head = feed.head + excluded.head RETURNING name, head

-- name: feed_item_append
-- Numbered backwards from the head that `feed_draw` has just drawn.
INSERT INTO feed_item (feed, seq, at, kind, conversation_id, position, body)
SELECT f.name, f.head - $2, $3, $4, $5, $6, $7 FROM feed f WHERE f.name = $1

-- name: feed_after
-- The next items of a feed, in order.
SELECT feed, seq, at, kind, conversation_id, position, body FROM feed_item
WHERE feed = $1 AND seq > $2 ORDER BY seq LIMIT $3

-- name: feed_head
-- The number of a feed's last item.
SELECT head FROM feed WHERE name = $1

-- name: replies_waiting
-- The bot's unsent replies in a conversation; only the latest can still be unsent.
SELECT $1, d.message_id FROM delivery d WHERE d.status IN ('QUEUED', 'SENDING') AND d.message_id IN (
    SELECT id FROM message WHERE conversation_id = $1 AND created_by = 'bot' ORDER BY id DESC LIMIT 100
)

-- name: lanes_due
-- Due turns, and then turns whose lease has expired.
SELECT {lane} FROM lane l WHERE l.owner IS NULL AND l.due_at <= $1 ORDER BY l.due_at LIMIT $2

-- name: lanes_expired
-- Turns whose worker stopped renewing its lease: another one takes them over.
SELECT {lane} FROM lane l WHERE l.owner IS NOT NULL AND l.lease_until <= $1 ORDER BY l.lease_until LIMIT $2

-- name: conversation_of
-- The conversations of claimed turns.
SELECT {conversation} FROM conversation c WHERE c.id = $1

-- name: entries_between
-- The burst of a turn: what the customer wrote after the last answer.
SELECT {entry} FROM entry e WHERE e.conversation_id = $1 AND e.position > $2 AND e.position <= $3 ORDER BY e.position

-- name: burst_ends
-- The position of the customer's last message in a turn that does not take the whole burst.
SELECT e.conversation_id, e.position FROM entry e
WHERE e.conversation_id = $1 AND e.position > $2 AND e.position <= $3 AND e.sender = 'contact'
ORDER BY e.position LIMIT 1 OFFSET $4

-- name: entries_said
-- What was said before a burst; the answers to an earlier part of it come after it.
SELECT {entry} FROM entry e WHERE e.conversation_id = $1 AND (e.position < $2 OR e.sender <> 'contact')
ORDER BY e.position DESC LIMIT $3

-- name: entries_before
-- Entries before a position, newest first: a page of a conversation, or the history that a bot gets.
SELECT {entry} FROM entry e WHERE e.conversation_id = $1 AND e.position < $2 ORDER BY e.position DESC LIMIT $3

-- name: lanes_renew
-- No row for a turn that another worker has taken over: its fence has moved.
UPDATE lane SET lease_until = $3 WHERE conversation_id = $1 AND fence = $2 AND owner IS NOT NULL
RETURNING conversation_id

-- name: lanes_lock
-- Before a renewal, in the order in which inbound messages lock.
SELECT conversation_id FROM lane WHERE conversation_id = $1

-- name: lanes_abandon
-- For a worker that is known to be gone: the next claim takes its turns over.
UPDATE lane SET lease_until = $2 WHERE owner = $1 AND lease_until > $2 RETURNING conversation_id

-- name: lanes_next
-- When the next turn is due or the next lease ends: until then a worker sleeps.
SELECT min(at) FROM (
    SELECT min(due_at) AS at FROM lane WHERE owner IS NULL AND due_at IS NOT NULL
    UNION ALL SELECT min(lease_until) FROM lane WHERE owner IS NOT NULL
) AS soonest

-- name: lanes_stale
-- How many turns have lost their worker.
SELECT count(*) FROM lane WHERE owner IS NOT NULL AND lease_until <= $1

-- name: turns_open
-- Held and due turns, the oldest first, with the number of unanswered messages and the time of the first. The index of
-- due turns finds them: even with other orgs' turns it holds only the open ones.
SELECT {lane}, {conversation},
    (SELECT count(*) FROM entry e
     WHERE e.conversation_id = l.conversation_id AND e.position > l.done AND e.position <= l.tail AND e.sender = 'contact'),
    (SELECT e.id_at FROM entry e WHERE e.conversation_id = l.conversation_id AND e.position > l.done
        AND e.sender = 'contact' ORDER BY e.position LIMIT 1)
FROM (
    SELECT h.conversation_id AS id, h.claimed_at AS since FROM lane h
    WHERE h.owner IS NOT NULL AND h.lease_until IS NOT NULL AND h.org_id = $1
    UNION ALL SELECT w.conversation_id, w.due_at FROM lane w
    WHERE w.owner IS NULL AND w.due_at IS NOT NULL AND w.org_id = $1
    ORDER BY 2 LIMIT $2
) AS waiting JOIN lane l ON l.conversation_id = waiting.id JOIN conversation c ON c.id = l.conversation_id
ORDER BY waiting.since

-- name: turns_failed
-- Turns of a conversation that was merged into another cannot be answered any more.
SELECT {turn} FROM turn t WHERE t.org_id = $1 AND t.state = 'failed'
    AND (SELECT 1 FROM conversation c WHERE c.id = t.conversation_id) IS NOT NULL
ORDER BY t.ended_at DESC LIMIT $2

-- name: turn_get
-- The record of one turn.
SELECT {turn} FROM turn t WHERE t.conversation_id = $1 AND t.hi = $2

-- name: turns_forget
-- A dead letter stays until a user decides on it.
DELETE FROM turn WHERE (conversation_id, hi) IN (
    SELECT t.conversation_id, t.hi FROM turn t WHERE t.state <> 'failed' AND t.ended_at < $1 ORDER BY t.ended_at LIMIT $2
) RETURNING hi

-- name: feed_items_old
-- The feed of each item that may be pruned; the last item of a feed stays. Because clocks differ, nothing is pruned
-- from a feed whose first item is kept.
SELECT i.feed FROM feed_item i
WHERE i.at < $1 AND i.seq < (SELECT f.head FROM feed f WHERE f.name = i.feed)
    AND (SELECT k.at FROM feed_item k WHERE k.feed = i.feed ORDER BY k.seq LIMIT 1) < $1
    AND ($3 = '' OR i.seq <= (SELECT r.seq FROM feed_reader r WHERE r.reader = $3 AND r.feed = i.feed))
ORDER BY i.at LIMIT $2

-- name: feed_items_forget
-- The oldest items of a feed, up to the first one that is kept, so that the rest has no gap. Items that the given
-- consumer has not read stay.
DELETE FROM feed_item WHERE feed = $1 AND ($4 = '' OR seq <= (
    SELECT r.seq FROM feed_reader r WHERE r.reader = $4 AND r.feed = $1
)) AND seq < (
    SELECT coalesce(min(CASE WHEN oldest.at >= $3 THEN oldest.seq END), max(oldest.seq) + 1)
    FROM (SELECT i.seq, i.at FROM feed_item i WHERE i.feed = $1 ORDER BY i.seq LIMIT $2) AS oldest
) RETURNING seq

-- name: turn_forget
-- A failed turn that is replayed runs again under the same id.
DELETE FROM turn WHERE conversation_id = $1 AND hi = $2 AND state = 'failed'

-- name: lane_get
-- The turn state of one conversation, without a lock.
SELECT {lane} FROM lane l WHERE l.conversation_id = $1

-- name: conversation_get
-- One customer conversation of the org.
SELECT {conversation} FROM conversation c WHERE c.id = $1 AND c.org_id = $2 AND c.kind = 'customer'

-- name: conversations_at
-- The conversations of the contact that has an address, one per number.
SELECT {conversation} FROM contact_address a JOIN conversation c ON c.contact_id = a.contact_id
WHERE a.org_id = $1 AND a.address = $2 ORDER BY c.id

-- name: contact_of
-- One row per address.
SELECT k.id, k.org_id, k.name, k.username, k.dossier_id, a.address
FROM contact k JOIN contact_address a ON a.contact_id = k.id WHERE k.id = $1 ORDER BY a.address

-- name: contact_in
-- The contact of a conversation, one row per address.
SELECT k.id, k.org_id, k.name, k.username, k.dossier_id, a.address
FROM conversation c JOIN contact k ON k.id = c.contact_id JOIN contact_address a ON a.contact_id = k.id
WHERE c.id = $1 ORDER BY a.address

-- name: arrivals_forget
DELETE FROM arrival WHERE (number, wamid) IN (
    SELECT a.number, a.wamid FROM arrival a WHERE a.received_at < $1 ORDER BY a.received_at LIMIT $2
) RETURNING wamid

-- name: conversations_of_both
-- The conversations of two contacts that are merged.
SELECT {conversation} FROM conversation c WHERE c.contact_id IN ($1, $2) AND c.org_id = $3

-- name: contact_lock
-- Both contacts of a merge, in the order of their ids.
SELECT id FROM contact WHERE id = $1 AND org_id = $2

-- name: entry_first_waiting
-- The customer's first message that no turn has answered: a merge inserts before it.
SELECT min(e.position) FROM entry e WHERE e.conversation_id = $1 AND e.position > $2 AND e.sender = 'contact'

-- name: arrivals_move
-- Runs before the entries move, because it finds the rows through them.
UPDATE arrival SET conversation_id = $2, position = position + $3
WHERE number = $6 AND conversation_id = $1 AND position > $4 AND position <= $5 AND wamid IN (
    SELECT e.wamid FROM entry e WHERE e.conversation_id = $1 AND e.position > $4 AND e.position <= $5
)

-- name: entries_move
-- Appends one conversation's entries to another's; kept_in and kept_at say where the history store has them.
UPDATE entry SET conversation_id = $2, position = position + $3, id_at = position + $6,
    kept_in = coalesce(kept_in, conversation_id), kept_at = coalesce(kept_at, id_at)
WHERE conversation_id = $1 AND position > $4 AND position <= $5

-- name: entries_aside
-- Makes room in a merge: unique positions cannot be shifted in place, so they become negative first.
UPDATE entry SET position = -position WHERE conversation_id = $1 AND position > $2

-- name: entries_back
-- And then get their new positions.
UPDATE entry SET position = $2 - position, id_at = $3 - position,
    kept_in = coalesce(kept_in, conversation_id), kept_at = coalesce(kept_at, id_at)
WHERE conversation_id = $1 AND position < 0

-- name: messages_move
-- Outbound messages of a merged conversation.
UPDATE message SET conversation_id = $2 WHERE conversation_id = $1

-- name: turns_move
-- Turn records of a merged conversation, at their new positions.
UPDATE turn SET conversation_id = $2, lo = lo + $3, hi = hi + $3 WHERE conversation_id = $1

-- name: lane_drop
-- The turn state of a conversation that was merged into another.
DELETE FROM lane WHERE conversation_id = $1

-- name: conversation_drop
-- A conversation whose entries have moved to another.
DELETE FROM conversation WHERE id = $1

-- name: conversation_give
-- In a merge: a conversation with a number that the kept contact has none with.
UPDATE conversation SET contact_id = $2 WHERE id = $1

-- name: addresses_give
-- In a merge: the kept contact gets the other one's addresses.
UPDATE contact_address SET contact_id = $2 WHERE contact_id = $1

-- name: contact_fill
-- In a merge: the kept contact gets what it does not know itself.
UPDATE contact SET name = coalesce(contact.name, (SELECT o.name FROM contact o WHERE o.id = $2)),
    username = coalesce(contact.username, (SELECT o.username FROM contact o WHERE o.id = $2)),
    dossier_id = coalesce(contact.dossier_id, (SELECT o.dossier_id FROM contact o WHERE o.id = $2)), updated_at = $3
WHERE id = $1

-- name: contact_drop
-- The contact that was merged into another.
DELETE FROM contact WHERE id = $1
