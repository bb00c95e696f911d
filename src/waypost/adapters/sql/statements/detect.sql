-- Invariant checks. Each statement walks a range of message ids ($1, $2] by primary key, and looks up each by another
-- key, in scalar subqueries, which no planner turns into a scan of the other table.

-- name: detect_newest
-- Where the check of the newest messages begins.
SELECT coalesce(max(id), 0) FROM message

-- name: detect_queued_nowhere
-- QUEUED, but in none of the places where a worker would find it.
SELECT d.message_id FROM delivery d
WHERE d.message_id > $1 AND d.message_id <= $2 AND d.status = 'QUEUED'
    AND (SELECT 1 FROM ready r WHERE r.message_id = d.message_id) IS NULL
    AND (SELECT 1 FROM later w WHERE w.message_id = d.message_id) IS NULL
    AND (SELECT 1 FROM queue_line l WHERE l.message_id = d.message_id) IS NULL
LIMIT $3

-- name: detect_ready_not_queued
-- Ready to be sent, but not QUEUED.
SELECT r.message_id FROM ready r
WHERE r.message_id > $1 AND r.message_id <= $2
    AND coalesce((SELECT d.status FROM delivery d WHERE d.message_id = r.message_id), '') <> 'QUEUED'
LIMIT $3

-- name: detect_later_not_queued
-- Scheduled or to be retried, but not QUEUED.
SELECT w.message_id FROM later w
WHERE w.message_id > $1 AND w.message_id <= $2
    AND coalesce((SELECT d.status FROM delivery d WHERE d.message_id = w.message_id), '') <> 'QUEUED'
LIMIT $3

-- name: detect_line_not_queued
-- In the line of an ordered queue, but not QUEUED.
SELECT l.message_id FROM queue_line l
WHERE l.message_id > $1 AND l.message_id <= $2
    AND coalesce((SELECT d.status FROM delivery d WHERE d.message_id = l.message_id), '') <> 'QUEUED'
LIMIT $3

-- name: detect_placed_twice
-- In two places: two workers could send it.
SELECT d.message_id FROM delivery d
WHERE d.message_id > $1 AND d.message_id <= $2 AND d.status = 'QUEUED'
    AND (SELECT count(*) FROM ready r WHERE r.message_id = d.message_id)
    + (SELECT count(*) FROM later w WHERE w.message_id = d.message_id)
    + (SELECT count(*) FROM queue_line l WHERE l.message_id = d.message_id) > 1
LIMIT $3

-- name: detect_stuck_line
-- Waits behind a head that is done, so that nothing will promote it.
SELECT l.message_id FROM queue_line l
WHERE l.message_id > $1 AND l.message_id <= $2
    AND coalesce((
        SELECT d.status FROM queue q JOIN delivery d ON d.message_id = q.head WHERE q.id = l.queue_id AND NOT d.parked
    ), '') NOT IN ('QUEUED', 'SENDING')
LIMIT $3

-- name: detect_unsettled
-- SENDING for far longer than the stale limit, counted in webhook uptime; a refused webhook starts it anew.
SELECT message_id FROM delivery
WHERE status = 'SENDING' AND NOT parked
    AND open_at_claim <= (SELECT open_total FROM door WHERE id = 1 AND refused_total <= open_total - $1) - $1
ORDER BY open_at_claim LIMIT $2

-- name: detect_without_delivery
-- A message without its delivery.
SELECT m.id FROM message m
WHERE m.id > $1 AND m.id <= $2 AND (SELECT 1 FROM delivery d WHERE d.message_id = m.id) IS NULL
LIMIT $3

-- name: detect_misfit_status
-- A status without the time, id or error code that belongs to it.
SELECT message_id FROM delivery
WHERE message_id > $1 AND message_id <= $2 AND (
    (status IN ('SENT', 'DELIVERED') AND (provider_id IS NULL OR sent_at IS NULL))
    OR (status = 'DELIVERED' AND delivered_at IS NULL)
    OR (status = 'FAILED' AND error_code IS NULL)
)
LIMIT $3

-- name: detect_accepted_twice
-- Except for repeats that the policy `requeue` allows, which leave an event.
SELECT a.message_id FROM attempt a
WHERE a.message_id > $1 AND a.message_id <= $2 AND a.status = 'SUCCESS'
    AND (SELECT 1 FROM event e WHERE e.message_id = a.message_id AND e.kind = 'requeued' LIMIT 1) IS NULL
GROUP BY a.message_id, a.generation HAVING count(*) > 1
LIMIT $3

-- name: detect_foreign_wamid
-- Accepted under a wamid that is bound to another message or to none.
SELECT d.message_id FROM delivery d
WHERE d.message_id > $1 AND d.message_id <= $2 AND d.status IN ('SENT', 'DELIVERED') AND d.provider_id IS NOT NULL
    AND coalesce((SELECT w.message_id FROM wamid w WHERE w.number = d.sender AND w.wamid = d.provider_id), 0)
    <> d.message_id
LIMIT $3

-- name: detect_foreign_status
-- A status update of another org.
SELECT d.message_id FROM delivery d
WHERE d.message_id > $1 AND d.message_id <= $2
    AND (SELECT count(*) FROM report r WHERE r.message_id = d.message_id AND r.org_id <> d.org_id) > 0
LIMIT $3

-- name: detect_outside_window
-- A pruned recipient state proves nothing; windows are never shortened, so one that ended before the claim was closed.
SELECT a.message_id FROM message m JOIN attempt a ON a.message_id = m.id
WHERE m.id > $1 AND m.id <= $2 AND a.message_id > $1 AND a.message_id <= $2
    AND a.status = 'SUCCESS' AND a.created_at > $4 AND m.template IS NULL AND m.channel = 'WHATSAPP'
    AND (SELECT coalesce(p.expires_at, 0) FROM pair p WHERE p.sender = m.sender AND p.recipient = m.recipient)
    <= a.created_at
LIMIT $3

-- name: detect_without_consent
-- Messages claimed well after the latest consent of the dossier or the address was revoked and recorded. The
-- confirmation of a STOP may be sent, even late.
SELECT a.message_id FROM message m JOIN attempt a ON a.message_id = m.id
WHERE m.id > $1 AND m.id <= $2 AND a.message_id > $1 AND a.message_id <= $2 AND a.status = 'SUCCESS' AND NOT m.exempt AND (
    (
        SELECT c.at FROM consent c WHERE c.org_id = m.org_id AND c.subject = 'address:' || m.recipient
            AND c.channel = m.channel AND c.status = 'REVOKED' AND coalesce(c.heard_at, c.at) < a.created_at - $4
    ) < a.created_at - $4
    OR (
        SELECT c.at FROM consent c WHERE c.org_id = m.org_id AND c.subject = 'dossier:' || m.dossier_id
            AND c.channel = m.channel AND c.status <> 'GRANTED' AND coalesce(c.heard_at, c.at) < a.created_at - $4
    ) < a.created_at - $4
)
LIMIT $3

-- name: detect_quotas
-- The first condition makes the scan start in the middle of the index.
SELECT name, free_at, used, since, most FROM permit WHERE name > 'quota:' AND name LIKE 'quota:%' ORDER BY name LIMIT $1

-- name: detect_newest_conversation
-- Where the check of the newest conversations begins.
SELECT coalesce(max(id), 0) FROM conversation

-- name: detect_turns_overlap
-- The previous turn, by its last message, must end where this one starts, or earlier.
SELECT t.conversation_id FROM turn t
WHERE t.conversation_id > $1 AND t.conversation_id <= $2
    AND coalesce((
        SELECT p.hi FROM turn p WHERE p.conversation_id = t.conversation_id AND p.hi < t.hi ORDER BY p.hi DESC LIMIT 1
    ), 0) > t.lo
LIMIT $3

-- name: detect_turns_not_done
-- A turn has ended after the position up to which the conversation is done.
SELECT l.conversation_id FROM lane l
WHERE l.conversation_id > $1 AND l.conversation_id <= $2
    AND coalesce((SELECT max(t.hi) FROM turn t WHERE t.conversation_id = l.conversation_id), 0) > l.done
LIMIT $3

-- name: detect_turns_gap
-- A user who had the floor, also by a handover, may have answered, or decided that no answer is needed. Messages before
-- the first stored turn are unknown or older than the bot; after a merge of contacts, positions between their entries
-- belong to no turn.
SELECT t.conversation_id FROM turn t
WHERE t.conversation_id > $1 AND t.conversation_id <= $2
    AND coalesce((
        SELECT CASE WHEN p.state IN ('handed_over', 'failed') THEN t.lo ELSE p.hi END FROM turn p
        WHERE p.conversation_id = t.conversation_id AND p.hi < t.hi ORDER BY p.hi DESC LIMIT 1
    ), t.lo) < t.lo
    AND (
        SELECT 1 FROM audit a WHERE a.org_id = t.org_id AND a.entity_type = 'CONVERSATION'
            AND a.entity_id = CAST(t.conversation_id AS text) AND a.action IN ('FLOOR_CHANGED', 'REPLAYED', 'JOINED') LIMIT 1
    ) IS NULL
LIMIT $3

-- name: detect_answered_twice
-- A reply's key contains its turn and its number.
SELECT t.conversation_id FROM turn t
WHERE t.conversation_id > $1 AND t.conversation_id <= $2
    AND (
        SELECT 1 FROM message m WHERE m.org_id = t.org_id AND m.idempotency_key =
            'turn:' || t.conversation_id || '-' || t.lo || '-' || t.hi || ':' || (t.replies + 1)
    ) IS NOT NULL
LIMIT $3

-- name: detect_answered_not_done
-- The first reply of a turn is stored, but the turn is still open.
SELECT l.conversation_id FROM lane l
WHERE l.conversation_id > $1 AND l.conversation_id <= $2 AND l.hi IS NOT NULL
    AND (
        SELECT 1 FROM message m WHERE m.org_id = l.org_id
            AND m.idempotency_key = 'turn:' || l.conversation_id || '-' || l.done || '-' || l.hi || ':1'
    ) IS NOT NULL
LIMIT $3

-- name: detect_turn_nowhere
-- A message waits for the bot, but the turn is neither due nor claimed.
SELECT l.conversation_id FROM lane l
WHERE l.conversation_id > $1 AND l.conversation_id <= $2 AND l.tail > l.done AND l.floor = 'bot'
    AND l.owner IS NULL AND l.due_at IS NULL
LIMIT $3

-- name: detect_overdue
-- Due for so long that a worker should have claimed it.
SELECT conversation_id, fence, due_at FROM lane WHERE owner IS NULL AND due_at <= $1 AND floor = 'bot'
ORDER BY due_at LIMIT $2

-- name: detect_abandoned
-- Its lease ended long ago and no worker took it over.
SELECT conversation_id, fence, lease_until FROM lane WHERE owner IS NOT NULL AND lease_until <= $1
ORDER BY lease_until LIMIT $2

-- name: detect_entry_gap
-- There must be as many entries as positions among the newest.
SELECT c.id FROM conversation c
WHERE c.id > $1 AND c.id <= $2
    AND (SELECT count(*) FROM entry e WHERE e.conversation_id = c.id AND e.position > c.position - $4)
    <> CASE WHEN c.position < $4 THEN c.position ELSE $4 END
LIMIT $3

-- name: detect_feeds
-- There must be as many items as numbers drawn, among the newest that are kept; the last one always is.
SELECT f.name,
    (SELECT count(*) FROM feed_item i WHERE i.feed = f.name AND i.seq > f.head - $3),
    f.head + 1
        - coalesce((SELECT min(i.seq) FROM feed_item i WHERE i.feed = f.name AND i.seq > f.head - $3), f.head)
FROM feed f WHERE f.name > $1 ORDER BY f.name LIMIT $2

-- name: detect_arrival_without_entry
-- A received message that its conversation does not have.
SELECT recent.conversation_id FROM (
    SELECT conversation_id, position, wamid FROM arrival WHERE received_at > $1 ORDER BY received_at DESC LIMIT $2
) AS recent
WHERE coalesce((
    SELECT e.wamid FROM entry e WHERE e.conversation_id = recent.conversation_id AND e.position = recent.position
), '') <> recent.wamid
LIMIT $3

-- name: detect_post_without_entry
-- A post that its conversation does not have.
SELECT recent.conversation_id FROM (
    SELECT conversation_id, position, client_message_id FROM post WHERE id_at > $1 ORDER BY id_at DESC LIMIT $2
) AS recent
WHERE coalesce((
    SELECT e.client_message_id FROM entry e
    WHERE e.conversation_id = recent.conversation_id AND e.position = recent.position
), '') <> recent.client_message_id
LIMIT $3
