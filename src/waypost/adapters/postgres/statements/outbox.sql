-- name: facts (set-wise)
SELECT message_id, org_id, sender, priority, max_attempts, queue_id, outlet, talk, provider_id
FROM delivery WHERE message_id = ANY($1::bigint[])

-- name: wamid_find (set-wise)
SELECT w.number, w.wamid, w.message_id, w.fence
FROM unnest($1::text[], $2::text[]) AS u (number, wamid) JOIN wamid w USING (number, wamid)

-- name: wamid_bind (set-wise)
-- Locks each row in any case, in key order: the second transaction waits here and then sees what the first one wrote.
INSERT INTO wamid (number, wamid, message_id, fence)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS u (number, wamid, message_id, fence)
ORDER BY number, wamid
ON CONFLICT (number, wamid) DO UPDATE
SET message_id = coalesce(wamid.message_id, excluded.message_id), fence = coalesce(wamid.fence, excluded.fence)
RETURNING number, wamid, message_id, fence

-- name: report_waiting (set-wise)
SELECT r.number, r.wamid, r.kind, r.participant, r.org_id, r.recipient, r.at, r.error_code, r.error_message
FROM unnest($1::text[], $2::text[]) AS u (number, wamid) JOIN report r USING (number, wamid)
WHERE r.message_id IS NULL ORDER BY r.number, r.wamid, r.at

-- name: report_find (set-wise)
SELECT r.number, r.wamid, r.kind, r.participant
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u (number, wamid, kind, participant)
JOIN report r USING (number, wamid, kind, participant)

-- name: outlet_find (set-wise)
SELECT o.org_id, o.sender, o.template, o.id FROM unnest($1::text[], $2::text[], $3::text[]) AS u (org_id, sender, template)
JOIN outlet o USING (org_id, sender, template)

-- name: outlet_ensure (set-wise)
INSERT INTO outlet (org_id, sender, template)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS u (org_id, sender, template) ORDER BY 1, 2, 3
ON CONFLICT (org_id, sender, template) DO NOTHING

-- name: gate_lock (set-wise)
SELECT {gate} FROM unnest($1::text[], $2::text[]) AS u (org_id, name) JOIN gate g USING (org_id, name)
ORDER BY g.org_id, g.name, g.kind FOR UPDATE OF g

-- name: gate_put (set-wise)
INSERT INTO gate (org_id, name, kind, code, reason, since, until, times)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::integer[])
    AS u (org_id, name, kind, code, reason, since, until, times)
ORDER BY org_id, name, kind
ON CONFLICT (org_id, name, kind) DO UPDATE SET code = excluded.code, reason = excluded.reason, since = excluded.since,
    until = CASE WHEN gate.until > excluded.until THEN gate.until ELSE excluded.until END, times = excluded.times
RETURNING id, org_id, name, kind, code, reason, since, until, times

-- name: gate_probe (set-wise)
UPDATE gate g SET until = u.until FROM unnest($1::bigint[], $2::bigint[]) AS u (id, until) WHERE g.id = u.id

-- name: pair_lock (set-wise)
SELECT p.sender, p.recipient, p.opened_at, p.last_inbound_at, p.expires_at, p.free_at, p.blocked_until, p.blocked_times,
    p.counted_at
FROM unnest($1::text[], $2::text[]) AS u (sender, recipient) JOIN pair p USING (sender, recipient)
ORDER BY sender, recipient FOR UPDATE OF p

-- name: pair_put (set-wise)
-- The columns that only claims change (free_at, counted_at) stay.
INSERT INTO pair (sender, recipient, opened_at, last_inbound_at, expires_at, blocked_until, blocked_times)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[])
ON CONFLICT (sender, recipient) DO UPDATE SET
    opened_at = CASE WHEN coalesce(pair.last_inbound_at, 0) > excluded.last_inbound_at
        THEN pair.opened_at ELSE excluded.opened_at END,
    last_inbound_at = greatest(pair.last_inbound_at, excluded.last_inbound_at),
    expires_at = greatest(pair.expires_at, excluded.expires_at),
    blocked_until = greatest(pair.blocked_until, excluded.blocked_until), blocked_times = excluded.blocked_times

-- name: queue_ensure (set-wise)
INSERT INTO queue (org_id, sender, recipient, head, tail)
SELECT org_id, sender, recipient, NULL, 0
FROM unnest($1::text[], $2::text[], $3::text[]) AS u (org_id, sender, recipient) ORDER BY org_id, sender, recipient
ON CONFLICT (org_id, sender, recipient) DO NOTHING

-- name: queue_find (set-wise)
SELECT q.org_id, q.sender, q.recipient, q.id
FROM unnest($1::text[], $2::text[], $3::text[]) AS u (org_id, sender, recipient)
JOIN queue q USING (org_id, sender, recipient)

-- name: queue_lock (set-wise)
SELECT id, head, tail FROM queue WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE

-- name: queue_update (set-wise)
UPDATE queue q SET head = u.head, tail = u.tail
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (id, head, tail) WHERE q.id = u.id

-- name: line_first (set-wise)
SELECT l.queue_id, l.position, l.message_id, d.outlet, l.rank, l.due_at
FROM unnest($1::bigint[]) AS u (queue_id)
CROSS JOIN LATERAL (SELECT * FROM queue_line WHERE queue_id = u.queue_id ORDER BY position LIMIT 1) l
JOIN delivery d ON d.message_id = l.message_id

-- name: line_leave (set-wise)
DELETE FROM queue_line l USING unnest($1::bigint[], $2::bigint[]) AS u (queue_id, position)
WHERE l.queue_id = u.queue_id AND l.position = u.position

-- name: line_add (set-wise)
INSERT INTO queue_line (queue_id, position, message_id, due_at, rank)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])

-- name: line_drop (set-wise)
DELETE FROM queue_line WHERE message_id = ANY($1::bigint[])

-- name: message_insert (set-wise)
-- Ids are assigned in the order of submission, keys are inserted in key order.
INSERT INTO message (id, org_id, sender, channel, recipient, template, subject, payload, dossier_id, idempotency_key, digest, priority,
    scheduled_at, expires_at, ordered, max_attempts, queue_id, created_at, created_by, conversation_id, exempt)
SELECT * FROM (
    SELECT nextval(pg_get_serial_sequence('message', 'id')), u.org_id, u.sender, u.channel, u.recipient, u.template, u.subject, u.payload, u.dossier_id, u.idempotency_key,
    u.digest, u.priority, u.scheduled_at, u.expires_at, u.ordered, u.max_attempts, u.queue_id, u.created_at,
    u.created_by, u.conversation_id, u.exempt
    FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[],
    $10::bytea[], $11::smallint[], $12::bigint[], $13::bigint[], $14::boolean[], $15::smallint[], $16::bigint[],
    $17::bigint[], $18::text[], $19::bigint[], $20::boolean[]
    ) WITH ORDINALITY AS u (org_id, sender, channel, recipient, template, subject, payload, dossier_id, idempotency_key, digest, priority,
    scheduled_at, expires_at, ordered, max_attempts, queue_id, created_at, created_by, conversation_id, exempt, arrival)
    ORDER BY arrival
) AS arrived
ORDER BY org_id, idempotency_key, nextval
ON CONFLICT (org_id, idempotency_key) DO NOTHING
RETURNING id, org_id, idempotency_key

-- name: message_by_key (set-wise)
SELECT m.org_id, m.idempotency_key, m.id, m.digest
FROM unnest($1::text[], $2::text[]) AS u (org_id, idempotency_key) JOIN message m USING (org_id, idempotency_key)

-- name: delivery_lock (set-wise)
SELECT {delivery} FROM delivery d WHERE message_id = ANY($1::bigint[]) ORDER BY message_id FOR UPDATE

-- name: delivery_insert (set-wise)
INSERT INTO delivery (message_id, org_id, sender, priority, max_attempts, queue_id, outlet, talk, status, generation, fence, first_fence,
    tries, due_at, owner, open_at_claim, parked, provider_id, error_code, error_message, sent_at, delivered_at,
    read_at, updated_at, claimed_at, deferred_by)
SELECT * FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::smallint[], $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::text[], $10::integer[], $11::bigint[], $12::bigint[], $13::integer[], $14::bigint[], $15::text[], $16::bigint[],
    $17::boolean[], $18::text[], $19::text[], $20::text[], $21::bigint[], $22::bigint[], $23::bigint[],
    $24::bigint[], $25::bigint[], $26::text[]
)

-- name: delivery_update (set-wise)
UPDATE delivery d SET
    status = u.status, generation = u.generation, fence = u.fence, first_fence = u.first_fence, tries = u.tries,
    due_at = u.due_at, owner = u.owner, open_at_claim = u.open_at_claim, parked = u.parked, provider_id =
    u.provider_id, error_code = u.error_code, error_message = u.error_message, sent_at = u.sent_at, delivered_at
    = u.delivered_at, read_at = u.read_at, updated_at = u.updated_at, claimed_at = u.claimed_at,
    deferred_by = u.deferred_by
FROM unnest(
    $1::bigint[], $2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::integer[], $7::bigint[], $8::text[],
    $9::bigint[], $10::boolean[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[],
    $16::bigint[], $17::bigint[], $18::bigint[], $19::text[]
) AS u (message_id, status, generation, fence, first_fence, tries, due_at, owner, open_at_claim, parked, provider_id,
    error_code, error_message, sent_at, delivered_at, read_at, updated_at, claimed_at, deferred_by)
WHERE d.message_id = u.message_id

-- name: delivery_progress (set-wise)
-- The provider has accepted it: clear the columns of a queued message.
UPDATE delivery d SET status = u.status, provider_id = u.provider_id, sent_at = u.sent_at,
    delivered_at = u.delivered_at, read_at = u.read_at, updated_at = u.updated_at,
    due_at = NULL, owner = NULL, parked = FALSE, error_code = NULL, error_message = NULL
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
    AS u (message_id, status, provider_id, sent_at, delivered_at, read_at, updated_at)
WHERE d.message_id = u.message_id

-- name: accept_at_once
-- A batch comes as one JSON text, which costs our process half of encoding an array per column.
-- Compare and set: only wamids without a row, and only while the attempt is still the current one. The second
-- transaction waits for the first at the wamid.
WITH bound AS (
    INSERT INTO wamid (number, wamid, message_id, fence)
    SELECT sender, wamid, message_id, fence
    FROM json_to_recordset($2::json) AS u (message_id bigint, fence bigint, sender text, wamid text)
    ORDER BY sender, wamid
    ON CONFLICT (number, wamid) DO NOTHING RETURNING wamid, message_id, fence
), moved AS (
    UPDATE delivery d SET status = 'SENT', provider_id = b.wamid, sent_at = coalesce(d.sent_at, $1), updated_at = $1,
        due_at = NULL, owner = NULL, parked = FALSE, error_code = NULL, error_message = NULL
    FROM bound b WHERE d.message_id = b.message_id AND d.fence = b.fence AND d.status = 'SENDING'
    RETURNING d.message_id, d.fence, d.generation, d.tries, d.claimed_at
), tried AS (
    INSERT INTO attempt (message_id, fence, generation, attempt_no, status, response, created_at, finished_at)
    SELECT message_id, fence, generation, tries, 'SUCCESS', $3::jsonb ->> message_id::text, claimed_at, $1 FROM moved
    ON CONFLICT (message_id, fence) DO UPDATE SET status = excluded.status, error_code = NULL, error_message = NULL,
        response = excluded.response, next_retry_at = NULL, finished_at = excluded.finished_at
)
SELECT message_id FROM moved

-- name: delivery_read (set-wise)
-- Not locked: xmin shows at the write whether the row changed.
SELECT {delivery}, d.xmin::text FROM delivery d WHERE message_id = ANY($1::bigint[])

-- name: report_at_once
-- The fast path of statuses: moves deliveries that are unchanged since they were read,
-- and stores statuses and costs.
WITH moved AS (
    UPDATE delivery d SET status = u.status, error_code = u.error_code, error_message = u.error_message,
        sent_at = u.sent_at, delivered_at = u.delivered_at, read_at = u.read_at, updated_at = $1
    FROM json_to_recordset($2::json) AS u (message_id bigint, version text, status text, error_code text,
        error_message text, sent_at bigint, delivered_at bigint, read_at bigint)
    WHERE d.message_id = u.message_id AND d.xmin::text = u.version RETURNING d.message_id
), kept AS (
    INSERT INTO report (number, wamid, kind, participant, org_id, message_id, fence, recipient, at, received_at,
        error_code, error_message, body)
    SELECT number, wamid, kind, participant, org_id, message_id, fence, recipient, at, $1, error_code, error_message, body
    FROM json_to_recordset($3::json) AS u (number text, wamid text, kind text, participant text, org_id text,
        message_id bigint, fence bigint, recipient text, at bigint, error_code text, error_message text, body text)
    ORDER BY number, wamid, kind, participant
    ON CONFLICT (number, wamid, kind, participant) DO NOTHING
), booked AS (
    INSERT INTO cost (number, wamid, org_id, message_id, dossier_id, template, category, type, model, country,
        amount_micros, currency, at, day)
    SELECT u.number, u.wamid, u.org_id, u.message_id, m.dossier_id, m.template, u.category, u.type, u.model, u.country,
        u.amount_micros, u.currency, u.at, u.day
    FROM json_to_recordset($4::json) AS u (number text, wamid text, org_id text, message_id bigint, category text,
        type text, model text, country text, amount_micros bigint, currency text, at bigint, day integer)
    JOIN message m ON m.id = u.message_id
    ORDER BY u.number, u.wamid
    ON CONFLICT (number, wamid) DO NOTHING
)
SELECT message_id FROM moved

-- name: delivery_sending (set-wise)
UPDATE delivery d SET status = 'SENDING', fence = u.fence, tries = u.tries, owner = u.owner,
    open_at_claim = u.open_at_claim, claimed_at = u.claimed_at, updated_at = u.claimed_at, due_at = NULL,
    parked = FALSE, deferred_by = NULL
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::bigint[], $6::bigint[])
    AS u (message_id, fence, tries, owner, open_at_claim, claimed_at)
WHERE d.message_id = u.message_id

-- name: attempt_put (set-wise)
-- An attempt is stored when it ends; a proven success keeps the worker's response, whether it comes before or after.
INSERT INTO attempt (message_id, fence, generation, attempt_no, status, error_code, error_message, response,
    next_retry_at, created_at, finished_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::bigint[], $10::bigint[], $11::bigint[])
ON CONFLICT (message_id, fence) DO UPDATE SET status = excluded.status, error_code = excluded.error_code,
    error_message = excluded.error_message, response = coalesce(excluded.response, attempt.response),
    next_retry_at = excluded.next_retry_at, finished_at = excluded.finished_at

-- name: report_link (set-wise)
UPDATE report r SET message_id = u.message_id, fence = u.fence
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
    AS u (number, wamid, org_id, message_id, fence)
WHERE r.number = u.number AND r.wamid = u.wamid AND r.org_id = u.org_id AND r.message_id IS NULL

-- name: report_insert (set-wise)
INSERT INTO report (number, wamid, kind, participant, org_id, message_id, fence, recipient, at, received_at, error_code, error_message,
    body, open_total)
SELECT u.*, CASE WHEN u.message_id IS NULL THEN (SELECT open_total FROM door WHERE id = 1) END
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[],
    $10::bigint[], $11::text[], $12::text[], $13::text[]
) AS u (number, wamid, kind, participant, org_id, message_id, fence, recipient, at, received_at, error_code, error_message,
    body)
ORDER BY number, wamid, kind, participant
ON CONFLICT (number, wamid, kind, participant) DO NOTHING

-- name: expiring_add (set-wise)
INSERT INTO expiring (message_id, expires_at) SELECT * FROM unnest($1::bigint[], $2::bigint[])

-- name: expiring_again (set-wise)
INSERT INTO expiring (message_id, expires_at)
SELECT id, expires_at FROM message WHERE id = ANY($1::bigint[]) AND expires_at IS NOT NULL ORDER BY id
ON CONFLICT (message_id) DO NOTHING

-- name: expiring_drop (set-wise)
DELETE FROM expiring WHERE message_id = ANY($1::bigint[])

-- name: event_insert (set-wise)
INSERT INTO event (message_id, at, kind, detail)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[])

-- name: journal_insert (set-wise)
INSERT INTO journal (org_id, number, kind, key, state, error, received_at, body, told_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
    $9::bigint[]) AS u (org_id, number, kind, key, state, error, received_at, body, told_at)
ORDER BY number, kind, key
ON CONFLICT (number, kind, key) DO NOTHING

-- name: ready_add (set-wise)
INSERT INTO ready (message_id, outlet, rank, ready_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
ON CONFLICT (message_id) DO UPDATE SET rank = excluded.rank, ready_at = excluded.ready_at

-- name: ready_drop (set-wise)
DELETE FROM ready WHERE message_id = ANY($1::bigint[])

-- name: later_add (set-wise)
INSERT INTO later (message_id, outlet, rank, due_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
ON CONFLICT (message_id) DO UPDATE SET rank = excluded.rank, due_at = excluded.due_at

-- name: later_sooner (set-wise)
UPDATE later l SET due_at = u.due_at FROM unnest($1::bigint[], $2::bigint[]) AS u (message_id, due_at)
WHERE l.message_id = u.message_id

-- name: later_drop (set-wise)
DELETE FROM later WHERE message_id = ANY($1::bigint[])

-- name: later_due
SELECT message_id, outlet, rank FROM later WHERE due_at <= $1 ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: claim_pick (set-wise)
-- Skips locked rows, so a claim never waits; materialised, so that rows are locked once. Joined rows are looked up one
-- by one (LATERAL with a LIMIT): a plan made while `pair` was empty would otherwise scan all of it for ever.
WITH picked AS MATERIALIZED (
    SELECT r.* FROM unnest($1::bigint[], $2::integer[]) AS u (outlet, most)
    CROSS JOIN LATERAL (
        SELECT {delivery}, r.ready_at, r.rank
        FROM ready r JOIN delivery d ON d.message_id = r.message_id
        WHERE r.outlet = u.outlet ORDER BY r.rank, r.message_id LIMIT u.most
        FOR UPDATE OF r, d SKIP LOCKED
    ) r
)
SELECT {delivery of p}, m.recipient, m.template, m.payload, m.expires_at, m.created_at, p.ready_at, p.rank, m.channel,
    m.subject, m.dossier_id, w.expires_at, w.free_at, w.blocked_until, w.counted_at, cd.status, ca.status,
    m.conversation_id, m.exempt
FROM picked p JOIN message m ON m.id = p.message_id
LEFT JOIN LATERAL (SELECT * FROM pair x WHERE x.sender = m.sender AND x.recipient = m.recipient LIMIT 1) w ON TRUE
LEFT JOIN LATERAL (
    SELECT x.status FROM consent x
    WHERE x.org_id = m.org_id AND x.subject = 'dossier:' || m.dossier_id AND x.channel = m.channel LIMIT 1
) cd ON TRUE
LEFT JOIN LATERAL (
    SELECT x.status FROM consent x
    WHERE x.org_id = m.org_id AND x.subject = 'address:' || m.recipient AND x.channel = m.channel LIMIT 1
) ca ON TRUE

-- name: permit_lock (set-wise)
-- In the order of their names; the next claim waits here until this one ends.
SELECT name, free_at, used, since, most FROM permit WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE

-- name: permit_put (set-wise)
UPDATE permit p SET free_at = u.free_at, used = u.used, since = u.since
FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::bigint[]) AS u (name, free_at, used, since)
WHERE p.name = u.name

-- name: permit_refund (set-wise)
-- Only if the window that it was drawn from is still current; a permit may get back draws of several times.
UPDATE permit p SET used = greatest(0, p.used - (
    SELECT coalesce(sum(u.count), 0) FROM unnest($1::text[], $2::bigint[], $3::integer[]) AS u (name, drawn_at, count)
    WHERE u.name = p.name AND p.since <= u.drawn_at
))
WHERE p.name = ANY($1::text[])

-- name: pair_draw (set-wise)
INSERT INTO pair (sender, recipient, free_at, counted_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS u (sender, recipient, free_at, counted_at)
ORDER BY sender, recipient
ON CONFLICT (sender, recipient) DO UPDATE SET free_at = excluded.free_at, counted_at = excluded.counted_at

-- name: gate_probe_lock (set-wise)
-- The breakers that no other transaction is probing: taking a probe postpones the next one.
SELECT g.id FROM unnest($1::bigint[], $2::bigint[]) AS u (id, now) JOIN gate g USING (id)
WHERE g.until <= u.now FOR UPDATE OF g SKIP LOCKED

-- name: ledger_time
-- The database's own clock, by which all processes judge.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: door_tick
-- By the database's own clock, so that a jump of one server's clock does not count.
UPDATE door SET
    open_total = open_total + CASE
        WHEN clock.now - ticked_at BETWEEN 0 AND $2::bigint AND NOT EXISTS (
            SELECT 1 FROM webhook_listener l WHERE clock.now - l.ticked_at NOT BETWEEN 0 AND $2::bigint
        )
        THEN clock.now - ticked_at ELSE 0 END,
    refused_total = CASE
        WHEN $5::boolean OR EXISTS (
            SELECT 1 FROM webhook_listener l
            WHERE clock.now - l.ticked_at NOT BETWEEN 0
                AND CASE WHEN l.name = $4 OR l.place = $7 THEN $6::bigint ELSE $3::bigint END
        )
        THEN open_total ELSE refused_total END,
    ticked_at = clock.now
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now, $1::bigint AS caller_now) AS clock
WHERE id = 1 RETURNING open_total

-- name: wamid_forget (set-wise)
DELETE FROM wamid w USING unnest($1::text[], $2::text[]) AS u (number, wamid)
WHERE w.number = u.number AND w.wamid = u.wamid AND w.message_id IS NULL

-- name: suspects (set-wise)
-- Attempts since which a status without a message came for the same number and recipient; under the delivery's lock.
SELECT d.message_id FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.message_id = ANY($1::bigint[]) AND EXISTS (
    SELECT 1 FROM report r
    WHERE r.message_id IS NULL AND r.number = d.sender AND r.recipient = m.recipient AND r.open_total >= d.open_at_claim
)
