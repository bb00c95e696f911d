-- name: talk_find (set-wise)
-- Row by row (LATERAL with a LIMIT), whatever the table sizes were when the plan was made.
SELECT a.org_id, a.address, u.number, a.contact_id, k.name, k.username, c.id, k.dossier_id
FROM unnest($1::text[], $2::text[], $3::text[]) AS u (org_id, address, number)
CROSS JOIN LATERAL (
    SELECT * FROM contact_address x WHERE x.org_id = u.org_id AND x.address = u.address LIMIT 1
) a
CROSS JOIN LATERAL (SELECT * FROM contact x WHERE x.id = a.contact_id LIMIT 1) k
LEFT JOIN LATERAL (
    SELECT x.id FROM conversation x WHERE x.contact_id = a.contact_id AND x.number = u.number LIMIT 1
) c ON TRUE

-- name: contact_insert (set-wise)
INSERT INTO contact (org_id, met_as, name, username, dossier_id, created_at, updated_at)
SELECT u.org_id, u.met_as, u.name, u.username, u.dossier_id, u.at, u.at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    AS u (org_id, met_as, name, username, dossier_id, at)
ORDER BY 1, 2
ON CONFLICT (org_id, met_as) DO NOTHING
RETURNING org_id, met_as, id

-- name: contact_address_insert (set-wise)
INSERT INTO contact_address (org_id, address, contact_id)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) AS u (org_id, address, contact_id) ORDER BY 1, 2
ON CONFLICT (org_id, address) DO NOTHING RETURNING org_id, address

-- name: contact_rename (set-wise)
UPDATE contact k SET name = coalesce(u.name, k.name), username = coalesce(u.username, k.username), updated_at = u.at
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS u (id, name, username, at) WHERE k.id = u.id

-- name: dossier_of (set-wise)
SELECT u.org_id, d.phone, d.external_ref, d.id
FROM unnest($1::text[], $2::text[], $3::text[]) AS u (org_id, phone, external_ref)
CROSS JOIN LATERAL (
    SELECT x.id, x.phone, x.external_ref FROM dossier x WHERE x.org_id = u.org_id AND x.phone = u.phone
    UNION ALL
    SELECT x.id, x.phone, x.external_ref FROM dossier x WHERE x.org_id = u.org_id AND x.external_ref = u.external_ref
    LIMIT 1
) d

-- name: dossier_open (set-wise)
INSERT INTO dossier (org_id, phone, phone_alias, external_ref, name, status, created_at, updated_at)
SELECT u.org_id, u.phone, u.alias, u.external_ref, u.name, 'NEW', u.at, u.at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    AS u (org_id, phone, alias, external_ref, name, at)
ORDER BY u.org_id, coalesce(u.alias, u.phone), u.external_ref
ON CONFLICT DO NOTHING
RETURNING org_id, id

-- name: conversation_insert (set-wise)
INSERT INTO conversation (org_id, kind, number, contact_id, address, position, last_id_at, created_at)
SELECT u.org_id, 'customer', u.number, u.contact_id, u.address, 0, 0, u.at
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[]) AS u (org_id, number, contact_id, address, at)
ORDER BY 4, 3
ON CONFLICT (contact_id, number) WHERE contact_id IS NOT NULL DO NOTHING
RETURNING id, contact_id, number, org_id

-- name: lane_insert (set-wise)
INSERT INTO lane (conversation_id, org_id, tail, done, fence, tries, floor)
SELECT u.id, u.org_id, 0, 0, 0, 0, 'bot' FROM unnest($1::bigint[], $2::text[]) AS u (id, org_id)

-- name: talk_lock (set-wise)
SELECT {conversation}, {lane}
FROM unnest($1::bigint[]) AS u (id) JOIN conversation c ON c.id = u.id JOIN lane l ON l.conversation_id = c.id
ORDER BY c.id FOR UPDATE OF c, l

-- name: conversation_put (set-wise)
UPDATE conversation c SET position = u.position, last_id_at = u.last_id_at, address = u.address
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS u (id, position, last_id_at, address)
WHERE c.id = u.id

-- name: lane_put (set-wise)
UPDATE lane l SET tail = u.tail, done = u.done, hi = u.hi, fence = u.fence, first_at = u.first_at, due_at = u.due_at,
    owner = u.owner, claimed_at = u.claimed_at, lease_until = u.lease_until, tries = u.tries, floor = u.floor
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
    $8::text[], $9::bigint[], $10::bigint[], $11::integer[], $12::text[])
    AS u (id, tail, done, hi, fence, first_at, due_at, owner, claimed_at, lease_until, tries, floor)
WHERE l.conversation_id = u.id

-- name: arrival_find (set-wise)
-- Row by row: a join planned while the table was empty would scan all of it later.
SELECT a.number, a.wamid FROM unnest($1::text[], $2::text[]) AS u (number, wamid)
CROSS JOIN LATERAL (
    SELECT x.number, x.wamid FROM arrival x WHERE x.number = u.number AND x.wamid = u.wamid LIMIT 1
) a

-- name: arrival_insert (set-wise)
INSERT INTO arrival (number, wamid, conversation_id, position, received_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (number, wamid, c, p, at)
ORDER BY 1, 2
ON CONFLICT (number, wamid) DO NOTHING RETURNING number, wamid

-- name: entry_insert (set-wise)
INSERT INTO entry (conversation_id, position, id_at, at, sender, type, body, wamid, message_id, client_message_id)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::bigint[], $10::text[])

-- name: told_before (set-wise)
SELECT u.id, m.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::integer[])
    AS u (id, org_id, sender, recipient, most)
CROSS JOIN LATERAL (
    SELECT x.id, x.created_by, x.template, x.payload, x.created_at, x.scheduled_at
    FROM message x JOIN delivery d ON d.message_id = x.id
    WHERE x.org_id = u.org_id AND x.sender = u.sender AND x.recipient = u.recipient AND x.channel = 'WHATSAPP'
        AND d.talk IS NULL AND d.status NOT IN ('FAILED', 'CANCELLED')
    ORDER BY x.id DESC LIMIT u.most
) m

-- name: message_unseen (set-wise)
SELECT m.id, m.created_by FROM unnest($1::bigint[]) AS u (id) JOIN message m ON m.id = u.id
WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.message_id = m.id)

-- name: delivery_show (set-wise)
UPDATE delivery SET talk = u.id FROM unnest($1::bigint[], $2::bigint[]) AS u (message_id, id)
WHERE delivery.message_id = u.message_id

-- name: turn_insert (set-wise)
INSERT INTO turn (conversation_id, hi, lo, org_id, state, replies, tries, fence, started_at, ended_at, error)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::integer[], $7::integer[],
    $8::bigint[], $9::bigint[], $10::bigint[], $11::text[])

-- name: feed_draw (set-wise)
INSERT INTO feed (name, head)
SELECT * FROM unnest($1::text[], $2::bigint[]) AS u (name, count) ORDER BY 1
ON CONFLICT (name) DO UPDATE SET head = feed.head + excluded.head RETURNING name, head

-- name: feed_item_append (set-wise)
-- Numbered backwards from the head that `feed_draw` has drawn in the same statement.
INSERT INTO feed_item (feed, seq, at, kind, conversation_id, position, body)
SELECT u.feed, d.head - u.back, u.at, u.kind, u.conversation_id, u.position, u.body
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
    AS u (feed, back, at, kind, conversation_id, position, body) JOIN feed_draw d ON d.name = u.feed

-- name: arrivals_read (set-wise)
-- The contact, conversation and recipient state of each inbound message; xmin shows at the write whether they changed.
-- Closed conversations are left out, since reopening needs more writes.
-- Row by row (LATERAL with a LIMIT), whatever the table sizes were when the plan was made.
SELECT u.n, k.name, k.username, a.contact_id,
    (SELECT x.contact_id FROM contact_address x WHERE x.org_id = u.org_id AND x.address = u.other),
    (SELECT x.wamid FROM arrival x WHERE x.number = u.number AND x.wamid = u.wamid),
    c.version, l.version, p.version, {conversation}, {lane},
    p.sender, p.recipient, p.opened_at, p.last_inbound_at, p.expires_at, p.free_at, p.blocked_until, p.blocked_times,
    p.counted_at
FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS u (n, org_id, address, other, number, wamid, reply_to)
CROSS JOIN LATERAL (
    SELECT x.contact_id FROM contact_address x WHERE x.org_id = u.org_id AND x.address = u.address LIMIT 1
) a
CROSS JOIN LATERAL (SELECT x.name, x.username FROM contact x WHERE x.id = a.contact_id LIMIT 1) k
CROSS JOIN LATERAL (
    SELECT x.*, x.xmin::text AS version FROM conversation x
    WHERE x.contact_id = a.contact_id AND x.number = u.number AND x.state = 'open' LIMIT 1
) c
CROSS JOIN LATERAL (
    SELECT x.*, x.xmin::text AS version FROM lane x WHERE x.conversation_id = c.id LIMIT 1
) l
LEFT JOIN LATERAL (
    SELECT x.*, x.xmin::text AS version FROM pair x WHERE x.sender = u.number AND x.recipient = u.reply_to LIMIT 1
) p ON TRUE

-- name: talk_unchanged (set-wise)
-- Locks conversations and turn states, if no transaction changed them since they were read.
SELECT c.id FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u (id, version, lane_version)
JOIN conversation c ON c.id = u.id JOIN lane l ON l.conversation_id = c.id
WHERE c.xmin::text = u.version AND l.xmin::text = u.lane_version ORDER BY c.id FOR UPDATE OF c, l

-- name: pair_unchanged (set-wise)
-- Locks recipient states, if no transaction changed them since they were read.
SELECT p.recipient FROM unnest($1::text[], $2::text[], $3::text[]) AS u (sender, recipient, version)
JOIN pair p ON p.sender = u.sender AND p.recipient = u.recipient
WHERE p.xmin::text = u.version ORDER BY p.sender, p.recipient FOR UPDATE OF p

-- name: lanes_due
-- Skips locked rows, so a claim never waits.
SELECT {lane} FROM lane l WHERE l.owner IS NULL AND l.due_at <= $1 ORDER BY l.due_at LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: lanes_expired
SELECT {lane} FROM lane l WHERE l.owner IS NOT NULL AND l.lease_until <= $1 ORDER BY l.lease_until LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: conversation_of (set-wise)
SELECT {conversation} FROM conversation c WHERE c.id = ANY($1::bigint[])

-- name: contact_of (set-wise)
SELECT k.id, k.org_id, k.name, k.username, k.dossier_id, a.address
FROM unnest($1::bigint[]) AS u (id) JOIN contact k ON k.id = u.id JOIN contact_address a ON a.contact_id = k.id
ORDER BY k.id, a.address

-- name: contact_in (set-wise)
SELECT k.id, k.org_id, k.name, k.username, k.dossier_id, a.address
FROM unnest($1::bigint[]) AS u (id) JOIN conversation c ON c.id = u.id JOIN contact k ON k.id = c.contact_id
JOIN contact_address a ON a.contact_id = k.id
ORDER BY k.id, a.address

-- name: entries_between (set-wise)
SELECT {entry} FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (id, lo, hi)
JOIN entry e ON e.conversation_id = u.id AND e.position > u.lo AND e.position <= u.hi
ORDER BY e.conversation_id, e.position

-- name: burst_ends (set-wise)
SELECT u.id, x.position FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS u (id, lo, tail, skip)
CROSS JOIN LATERAL (
    SELECT e.position FROM entry e
    WHERE e.conversation_id = u.id AND e.position > u.lo AND e.position <= u.tail AND e.sender = 'contact'
    ORDER BY e.position LIMIT 1 OFFSET u.skip
) x

-- name: lanes_renew (set-wise)
UPDATE lane l SET lease_until = u.lease_until
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (id, fence, lease_until)
WHERE l.conversation_id = u.id AND l.fence = u.fence AND l.owner IS NOT NULL
RETURNING l.conversation_id

-- name: lanes_abandon
-- Locks in the same order as inbound messages do.
UPDATE lane SET lease_until = $2 WHERE conversation_id IN (
    SELECT conversation_id FROM lane WHERE owner = $1 AND lease_until > $2 ORDER BY conversation_id FOR UPDATE
) RETURNING conversation_id

-- name: lanes_lock (set-wise)
SELECT conversation_id FROM lane WHERE conversation_id = ANY($1::bigint[]) ORDER BY conversation_id FOR UPDATE

-- name: replies_waiting (set-wise)
SELECT u.id, d.message_id FROM unnest($1::bigint[]) AS u (id)
CROSS JOIN LATERAL (
    SELECT m.id FROM message m WHERE m.conversation_id = u.id AND m.created_by = 'bot' ORDER BY m.id DESC LIMIT 100
) m JOIN delivery d ON d.message_id = m.id WHERE d.status IN ('QUEUED', 'SENDING')

-- name: contact_lock (set-wise)
SELECT k.id FROM unnest($1::bigint[], $2::text[]) AS u (id, org_id)
JOIN contact k ON k.id = u.id AND k.org_id = u.org_id ORDER BY k.id FOR UPDATE OF k

-- name: conversation_give (set-wise)
UPDATE conversation c SET contact_id = u.contact_id FROM unnest($1::bigint[], $2::bigint[]) AS u (id, contact_id)
WHERE c.id = u.id

-- name: turn_forget (set-wise)
DELETE FROM turn t USING unnest($1::bigint[], $2::bigint[]) AS u (id, hi)
WHERE t.conversation_id = u.id AND t.hi = u.hi AND t.state = 'failed'

-- name: arrivals_move
-- Keys in an array: uses the index, whatever the table sizes were when the plan was made.
UPDATE arrival SET conversation_id = $2, position = position + $3
WHERE number = $6 AND conversation_id = $1 AND position > $4 AND position <= $5 AND wamid = ANY(ARRAY(
    SELECT e.wamid FROM entry e WHERE e.conversation_id = $1 AND e.position > $4 AND e.position <= $5
))

-- name: arrivals_forget
-- Skips locked rows: another process may be pruning them.
DELETE FROM arrival WHERE ctid = ANY(ARRAY(
    SELECT a.ctid FROM arrival a WHERE a.received_at < $1 ORDER BY a.received_at LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING wamid

-- name: turns_forget
DELETE FROM turn WHERE ctid = ANY(ARRAY(
    SELECT t.ctid FROM turn t WHERE t.state <> 'failed' AND t.ended_at < $1 ORDER BY t.ended_at LIMIT $2
    FOR UPDATE SKIP LOCKED
)) RETURNING hi

-- name: feed_items_forget (set-wise)
-- Waits for a concurrent pruning of the same feed: skipping its rows would leave a gap until it commits.
DELETE FROM feed_item WHERE ctid = ANY(ARRAY(
    SELECT gone.ctid FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS u (feed, n, before, reader)
    CROSS JOIN LATERAL (
        SELECT coalesce(min(oldest.seq) FILTER (WHERE oldest.at >= u.before), max(oldest.seq) + 1) AS seq
        FROM (SELECT k.seq, k.at FROM feed_item k WHERE k.feed = u.feed ORDER BY k.seq LIMIT u.n) AS oldest
    ) AS kept
    CROSS JOIN LATERAL (
        SELECT i.ctid FROM feed_item i WHERE i.feed = u.feed AND i.seq < kept.seq
            AND (u.reader = '' OR i.seq <= (
                SELECT r.seq FROM feed_reader r WHERE r.reader = u.reader AND r.feed = u.feed
            ))
        ORDER BY i.seq LIMIT u.n FOR UPDATE OF i
    ) AS gone
)) RETURNING seq
