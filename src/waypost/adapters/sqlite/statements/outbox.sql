-- The hottest statements, for a whole batch at once: arguments and results are one JSON text each. A statement that is
-- stepped row by row releases the interpreter lock for every row, and the event loop contends for it.

-- name: delivery_lock (set-wise)
SELECT json_group_array(json_array({delivery})) AS json
FROM delivery d WHERE message_id IN (SELECT value ->> 0 FROM json_each($1))

-- name: delivery_progress (set-wise)
-- The provider has accepted it: clear the columns of a queued message.
UPDATE delivery SET status = u.value ->> 1, provider_id = u.value ->> 2, sent_at = u.value ->> 3,
    delivered_at = u.value ->> 4, read_at = u.value ->> 5, updated_at = u.value ->> 6,
    due_at = NULL, owner = NULL, parked = FALSE, error_code = NULL, error_message = NULL
FROM json_each($1) AS u WHERE message_id = u.value ->> 0

-- name: delivery_accept (set-wise)
-- Compare and set: only while the accepted attempt is still the current one.
UPDATE delivery SET status = u.value ->> 1, provider_id = u.value ->> 2, sent_at = u.value ->> 3,
    delivered_at = u.value ->> 4, read_at = u.value ->> 5, updated_at = u.value ->> 6,
    due_at = NULL, owner = NULL, parked = FALSE, error_code = NULL, error_message = NULL
FROM json_each($1) AS u WHERE message_id = u.value ->> 0 AND fence = u.value ->> 7 AND status = 'SENDING'
RETURNING message_id

-- name: wamid_claim (set-wise)
INSERT INTO wamid (number, wamid, message_id, fence)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each($1) WHERE TRUE
ON CONFLICT (number, wamid) DO NOTHING RETURNING message_id

-- name: attempt_put (set-wise)
INSERT INTO attempt (message_id, fence, generation, attempt_no, status, error_code, error_message, response,
    next_retry_at, created_at, finished_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, value ->> 9, value ->> 10
FROM json_each($1) WHERE TRUE
ON CONFLICT (message_id, fence) DO UPDATE SET status = excluded.status, error_code = excluded.error_code,
    error_message = excluded.error_message, response = coalesce(excluded.response, attempt.response),
    next_retry_at = excluded.next_retry_at, finished_at = excluded.finished_at

-- name: report_insert (set-wise)
INSERT INTO report (number, wamid, kind, participant, org_id, message_id, fence, recipient, at, received_at, error_code,
    error_message, body, open_total)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12,
    CASE WHEN value ->> 5 IS NULL THEN (SELECT open_total FROM door WHERE id = 1) END
FROM json_each($1) WHERE TRUE
ON CONFLICT (number, wamid, kind, participant) DO NOTHING

-- name: delivery_sending (set-wise)
UPDATE delivery SET status = 'SENDING', fence = u.value ->> 1, tries = u.value ->> 2, owner = u.value ->> 3,
    open_at_claim = u.value ->> 4, claimed_at = u.value ->> 5, updated_at = u.value ->> 5, due_at = NULL, parked = FALSE,
    deferred_by = NULL
FROM json_each($1) AS u WHERE message_id = u.value ->> 0

-- name: ready_drop (set-wise)
DELETE FROM ready WHERE message_id IN (SELECT value ->> 0 FROM json_each($1))

-- name: consent_find (set-wise)
SELECT json_group_array(json_array(c.org_id, c.subject, c.channel, c.status, c.at)) AS json
FROM json_each($1) AS u
JOIN consent c ON c.org_id = u.value ->> 0 AND c.subject = u.value ->> 1 AND c.channel = u.value ->> 2

-- name: delivery_insert (set-wise)
INSERT INTO delivery (message_id, org_id, sender, priority, max_attempts, queue_id, outlet, talk, status, generation, fence,
    first_fence, tries, due_at, owner, open_at_claim, parked, provider_id, error_code, error_message, sent_at,
    delivered_at, read_at, updated_at, claimed_at, deferred_by)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, value
    ->> 15, value ->> 16, value ->> 17, value ->> 18, value ->> 19, value ->> 20, value ->> 21, value ->>
    22, value ->> 23, value ->> 24, value ->> 25
FROM json_each($1)

-- name: ready_add (set-wise)
INSERT INTO ready (message_id, outlet, rank, ready_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each($1) WHERE TRUE
ON CONFLICT (message_id) DO UPDATE SET rank = excluded.rank, ready_at = excluded.ready_at
