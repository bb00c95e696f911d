-- name: facts
-- The immutable columns of a message, and its provider id, if known.
SELECT message_id, org_id, sender, priority, max_attempts, queue_id, outlet, talk, provider_id FROM delivery WHERE message_id = $1

-- name: wamid_find
-- Which message and attempt a wamid belongs to, without a lock.
SELECT number, wamid, message_id, fence FROM wamid WHERE number = $1 AND wamid = $2

-- name: wamid_bind
-- Locks the row in any case: the second transaction waits here and then sees what the first one wrote.
INSERT INTO wamid (number, wamid, message_id, fence) VALUES ($1, $2, $3, $4)
ON CONFLICT (number, wamid) DO UPDATE
SET message_id = coalesce(wamid.message_id, excluded.message_id), fence = coalesce(wamid.fence, excluded.fence)
RETURNING number, wamid, message_id, fence

-- name: report_waiting
-- Status updates that came before their message was known.
SELECT number, wamid, kind, participant, org_id, recipient, at, error_code, error_message
FROM report WHERE number = $1 AND wamid = $2 AND message_id IS NULL ORDER BY at

-- name: report_find
-- Whether a failure was reported before: its gate is closed only once.
SELECT number, wamid, kind, participant FROM report
WHERE number = $1 AND wamid = $2 AND kind = $3 AND participant = $4

-- name: outlet_find
-- The dispatch groups of new messages.
SELECT org_id, sender, template, id FROM outlet WHERE org_id = $1 AND sender = $2 AND template = $3

-- name: outlet_ensure
-- A dispatch group is never deleted.
INSERT INTO outlet (org_id, sender, template) VALUES ($1, $2, $3) ON CONFLICT (org_id, sender, template) DO NOTHING

-- name: gate_lock
-- Locks the gates that a transaction may close or open.
SELECT {gate} FROM gate g WHERE org_id = $1 AND name = $2

-- name: gate_put
-- A gate that is closed already stays closed until the later time.
INSERT INTO gate (org_id, name, kind, code, reason, since, until, times) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (org_id, name, kind) DO UPDATE SET code = excluded.code, reason = excluded.reason, since = excluded.since,
    until = CASE WHEN gate.until > excluded.until THEN gate.until ELSE excluded.until END, times = excluded.times
RETURNING id, org_id, name, kind, code, reason, since, until, times

-- name: pair_lock
-- Locks the recipient states that a transaction may change.
SELECT sender, recipient, opened_at, last_inbound_at, expires_at, free_at, blocked_until, blocked_times, counted_at
FROM pair WHERE sender = $1 AND recipient = $2

-- name: pair_put
-- The columns that only claims change (free_at, counted_at) stay.
INSERT INTO pair (sender, recipient, opened_at, last_inbound_at, expires_at, blocked_until, blocked_times)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (sender, recipient) DO UPDATE SET opened_at = excluded.opened_at,
    last_inbound_at = excluded.last_inbound_at, expires_at = excluded.expires_at,
    blocked_until = excluded.blocked_until, blocked_times = excluded.blocked_times

-- name: permit_refund
-- Only if the window that it was drawn from is still current.
UPDATE permit SET used = CASE WHEN used > $3 THEN used - $3 ELSE 0 END WHERE name = $1 AND since <= $2

-- name: queue_ensure
-- The ordered queue of a number and a recipient.
INSERT INTO queue (org_id, sender, recipient, head, tail) VALUES ($1, $2, $3, NULL, 0)
ON CONFLICT (org_id, sender, recipient) DO NOTHING

-- name: queue_find
-- The id of an ordered queue, without a lock.
SELECT org_id, sender, recipient, id FROM queue WHERE org_id = $1 AND sender = $2 AND recipient = $3

-- name: queue_lock
-- Locks ordered queues: submit, settle and cancel decide about head and line under this lock.
SELECT id, head, tail FROM queue WHERE id = $1

-- name: queue_update
-- The new head, and the last position given out.
UPDATE queue SET head = $2, tail = $3 WHERE id = $1

-- name: line_first
-- The next in each queue whose head has left.
SELECT l.queue_id, l.position, l.message_id, d.outlet, l.rank, l.due_at
FROM queue_line l JOIN delivery d ON d.message_id = l.message_id
WHERE l.queue_id = $1 ORDER BY l.position LIMIT 1

-- name: line_leave
-- It becomes the head.
DELETE FROM queue_line WHERE queue_id = $1 AND position = $2

-- name: line_add
-- The end of the line; due_at 0 means due.
INSERT INTO queue_line (queue_id, position, message_id, due_at, rank) VALUES ($1, $2, $3, $4, $5)

-- name: line_drop
-- A message that is cancelled or expires while it waits in line.
DELETE FROM queue_line WHERE message_id = $1

-- name: message_insert
INSERT INTO message (org_id, sender, channel, recipient, template, subject, payload, dossier_id, idempotency_key, digest,
    priority, scheduled_at, expires_at, ordered, max_attempts, queue_id, created_at, created_by, conversation_id,
    exempt)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
ON CONFLICT (org_id, idempotency_key) DO NOTHING
RETURNING id, org_id, idempotency_key

-- name: message_by_key
-- Whether an idempotency key was used, and with which content.
SELECT org_id, idempotency_key, id, digest FROM message WHERE org_id = $1 AND idempotency_key = $2

-- name: delivery_lock
-- Locks deliveries; everything about a message's state is decided under this lock.
SELECT {delivery} FROM delivery d WHERE message_id = $1

-- name: delivery_insert
-- The state of a new message.
INSERT INTO delivery (message_id, org_id, sender, priority, max_attempts, queue_id, outlet, talk, status, generation, fence,
    first_fence, tries, due_at, owner, open_at_claim, parked, provider_id, error_code, error_message, sent_at,
    delivered_at, read_at, updated_at, claimed_at, deferred_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26)

-- name: delivery_update
-- The whole state as the rules decided it; the row is locked.
UPDATE delivery SET status = $2, generation = $3, fence = $4, first_fence = $5, tries = $6, due_at = $7, owner = $8,
    open_at_claim = $9, parked = $10, provider_id = $11, error_code = $12, error_message = $13, sent_at = $14,
    delivered_at = $15, read_at = $16, updated_at = $17, claimed_at = $18, deferred_by = $19
WHERE message_id = $1

-- name: delivery_progress
-- The provider has accepted it: clear the columns of a queued message.
UPDATE delivery SET status = $2, provider_id = $3, sent_at = $4, delivered_at = $5, read_at = $6, updated_at = $7,
    due_at = NULL, owner = NULL, parked = FALSE, error_code = NULL, error_message = NULL
WHERE message_id = $1

-- name: delivery_accept
-- Compare and set: only while the accepted attempt is still the current one.
UPDATE delivery SET status = $2, provider_id = $3, sent_at = $4, delivered_at = $5, read_at = $6, updated_at = $7,
    due_at = NULL, owner = NULL, parked = FALSE, error_code = NULL, error_message = NULL
WHERE message_id = $1 AND fence = $8 AND status = 'SENDING' RETURNING message_id

-- name: wamid_claim
-- Returns only wamids without a row; the second transaction waits here until the first has committed.
INSERT INTO wamid (number, wamid, message_id, fence) VALUES ($1, $2, $3, $4)
ON CONFLICT (number, wamid) DO NOTHING RETURNING message_id

-- name: delivery_sending
-- A claim: the new fence makes every earlier attempt of the message a late one.
UPDATE delivery SET status = 'SENDING', fence = $2, tries = $3, owner = $4, open_at_claim = $5, claimed_at = $6,
    updated_at = $6, due_at = NULL, parked = FALSE, deferred_by = NULL
WHERE message_id = $1

-- name: attempt_put
-- An attempt is stored when it ends; a proven success keeps the worker's response, whether it comes before or after.
INSERT INTO attempt (message_id, fence, generation, attempt_no, status, error_code, error_message, response,
    next_retry_at, created_at, finished_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (message_id, fence) DO UPDATE SET status = excluded.status, error_code = excluded.error_code,
    error_message = excluded.error_message, response = coalesce(excluded.response, attempt.response),
    next_retry_at = excluded.next_retry_at, finished_at = excluded.finished_at

-- name: report_link
-- Status updates that waited for this message now belong to it.
UPDATE report SET message_id = $4, fence = $5 WHERE number = $1 AND wamid = $2 AND org_id = $3 AND message_id IS NULL

-- name: report_insert
-- A status without a message also stores the webhook uptime: see stale_claims.
INSERT INTO report (number, wamid, kind, participant, org_id, message_id, fence, recipient, at, received_at, error_code,
    error_message, body, open_total)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
    CASE WHEN $6 IS NULL THEN (SELECT open_total FROM door WHERE id = 1) END)
ON CONFLICT (number, wamid, kind, participant) DO NOTHING

-- name: expiring_add
-- A message with an expiry, until it is settled.
INSERT INTO expiring (message_id, expires_at) VALUES ($1, $2)

-- name: expiring_again
-- For a message that a user retries.
INSERT INTO expiring (message_id, expires_at) SELECT id, expires_at FROM message WHERE id = $1 AND expires_at IS NOT NULL
ON CONFLICT (message_id) DO NOTHING

-- name: expiring_due
-- Messages being sent stay until their attempt has ended, and must not hide others.
SELECT e.message_id FROM expiring e JOIN delivery d ON d.message_id = e.message_id
WHERE e.expires_at <= $1 AND (d.status <> 'SENDING' OR d.parked) ORDER BY e.expires_at LIMIT $2

-- name: expiring_drop
-- The message can no longer expire.
DELETE FROM expiring WHERE message_id = $1

-- name: event_insert
-- A line of the message's timeline that no other table has.
INSERT INTO event (message_id, at, kind, detail) VALUES ($1, $2, $3, $4)

-- name: journal_insert
-- No change if the item was received before.
INSERT INTO journal (org_id, number, kind, key, state, error, received_at, body, told_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (number, kind, key) DO NOTHING

-- name: ready_add
-- May be claimed now; a message that is ready already gets the new rank.
INSERT INTO ready (message_id, outlet, rank, ready_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (message_id) DO UPDATE SET rank = excluded.rank, ready_at = excluded.ready_at

-- name: ready_drop
-- Claimed, cancelled or expired.
DELETE FROM ready WHERE message_id = $1

-- name: later_add
-- Waits for its time; one that waits already gets the new time.
INSERT INTO later (message_id, outlet, rank, due_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (message_id) DO UPDATE SET rank = excluded.rank, due_at = excluded.due_at

-- name: later_drop
-- Before ready_drop: a claim may be moving the row to ready.
DELETE FROM later WHERE message_id = $1

-- name: later_due
-- Messages whose time has come, to be moved to ready; on PostgreSQL it skips those that another claim moves.
SELECT message_id, outlet, rank FROM later WHERE due_at <= $1 ORDER BY due_at LIMIT $2

-- name: next_due
-- When the next message is due: until then a worker sleeps.
SELECT min(due_at) FROM later

-- name: outlets_busy
-- The next dispatch groups with ready messages, found by skipping through the index, each with the gate in front.
WITH RECURSIVE busy (outlet) AS (
    SELECT min(outlet) FROM ready WHERE outlet > $1
    UNION ALL
    SELECT (SELECT min(r.outlet) FROM ready r WHERE r.outlet > busy.outlet) FROM busy WHERE busy.outlet IS NOT NULL
)
SELECT o.id, o.org_id, o.sender, o.template, n.waba_id, coalesce(n.pace, mb.pace), n.tier, (SELECT open_total FROM door WHERE id = 1), {gate}
FROM (SELECT outlet FROM busy WHERE outlet IS NOT NULL LIMIT $2) b
JOIN outlet o ON o.id = b.outlet
LEFT JOIN number n ON n.id = o.sender
{part gate_in_front at $3}
ORDER BY o.id

-- name: claim_pick
-- All reads of a claim: the delivery, what the worker needs to send, and what the send checks need.
SELECT {delivery}, m.recipient, m.template, m.payload, m.expires_at, m.created_at, r.ready_at, r.rank, m.channel,
    m.subject, m.dossier_id, p.expires_at, p.free_at, p.blocked_until, p.counted_at, cd.status, ca.status,
    m.conversation_id, m.exempt
FROM ready r JOIN delivery d ON d.message_id = r.message_id JOIN message m ON m.id = r.message_id
LEFT JOIN pair p ON p.sender = m.sender AND p.recipient = m.recipient
LEFT JOIN consent cd ON cd.org_id = m.org_id AND cd.subject = 'dossier:' || m.dossier_id AND cd.channel = m.channel
LEFT JOIN consent ca ON ca.org_id = m.org_id AND ca.subject = 'address:' || m.recipient AND ca.channel = m.channel
WHERE r.outlet = $1 ORDER BY r.rank, r.message_id LIMIT $2

-- name: permit_lock
SELECT name, free_at, used, since, most FROM permit WHERE name = $1

-- name: permit_put
-- What a claim has taken of a quota, or how far it has drawn a pace; the row is locked.
UPDATE permit SET free_at = $2, used = $3, since = $4 WHERE name = $1

-- name: pair_draw
-- Keeps the window and changes the pace only.
INSERT INTO pair (sender, recipient, free_at, counted_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (sender, recipient) DO UPDATE SET free_at = excluded.free_at, counted_at = excluded.counted_at

-- name: gate_probe_lock
-- The breakers that no other transaction is probing.
SELECT id FROM gate WHERE id = $1 AND until <= $2

-- name: gate_probe
-- One probe at a time: taking it postpones the next one.
UPDATE gate SET until = $2 WHERE id = $1

-- name: claims_of
-- The webhook uptime, which is never negative, is only named to make SQLite use the index of unsettled attempts.
SELECT message_id FROM delivery WHERE status = 'SENDING' AND NOT parked AND open_at_claim >= 0 AND owner = $1

-- name: door_total
-- The webhook uptime so far, by which stale attempts are measured, and what it was at the last refusal.
SELECT open_total, refused_total FROM door WHERE id = 1

-- name: door_tick
-- Nothing counts while a listener is silent. One that ticks again after a silence, or is silent for so long that it is
-- forgotten ($3), may have refused webhooks and counts as if it had said so ($5). So does one that is replaced ($7) after
-- a silence. The first tick of a process counts no time: its $2 is 0, and $6 the gap.
UPDATE door SET
    open_total = open_total + CASE
        WHEN $1 - ticked_at BETWEEN 0 AND $2
            AND NOT EXISTS (SELECT 1 FROM webhook_listener l WHERE $1 - l.ticked_at NOT BETWEEN 0 AND $2)
        THEN $1 - ticked_at ELSE 0 END,
    refused_total = CASE
        WHEN $5 OR EXISTS (
            SELECT 1 FROM webhook_listener l
            WHERE $1 - l.ticked_at NOT BETWEEN 0 AND CASE WHEN l.name = $4 OR l.place = $7 THEN $6 ELSE $3 END
        )
        THEN open_total ELSE refused_total END,
    ticked_at = $1
WHERE id = 1 RETURNING open_total

-- name: listener_forget
-- Listeners that have been silent for too long, by the time of the tick.
DELETE FROM webhook_listener
WHERE (SELECT ticked_at FROM door WHERE id = 1) - ticked_at NOT BETWEEN 0 AND $1

-- name: listener_tick
-- Registers a listener, or notes that it is not silent.
INSERT INTO webhook_listener (name, place, ticked_at) SELECT $1, $2, ticked_at FROM door WHERE id = 1
ON CONFLICT (name) DO UPDATE SET ticked_at = excluded.ticked_at

-- name: listener_replace
-- Earlier listeners in this place; one that still runs registers again with its next tick.
DELETE FROM webhook_listener WHERE place = $1

-- name: listener_leave
-- A listener that stopped in order.
DELETE FROM webhook_listener WHERE name = $1

-- name: stale_claims
-- Attempts that stayed unsettled while the webhook endpoint was up for the whole limit.
SELECT message_id FROM delivery WHERE status = 'SENDING' AND NOT parked AND open_at_claim <= $1
ORDER BY open_at_claim LIMIT $2

-- name: suspects
-- Attempts since which a status without a message came for the same number and recipient. "Since" is measured in
-- webhook uptime, which never goes back: clocks differ and jump. Read under the delivery's lock, as late as possible.
SELECT d.message_id FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.message_id = $1 AND EXISTS (
    SELECT 1 FROM report r
    WHERE r.message_id IS NULL AND r.number = d.sender AND r.recipient = m.recipient AND r.open_total >= d.open_at_claim
)

-- name: orphans_count
-- Status updates that have waited for their message for long.
SELECT count(*) FROM report WHERE message_id IS NULL AND received_at < $1

-- name: orphans_forget
-- Status updates whose message never appeared.
DELETE FROM report WHERE message_id IS NULL AND received_at < $1 RETURNING number, wamid

-- name: wamid_forget
-- The wamid of status updates that were pruned.
DELETE FROM wamid WHERE number = $1 AND wamid = $2 AND message_id IS NULL
