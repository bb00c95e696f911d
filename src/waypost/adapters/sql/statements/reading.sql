-- name: message_get
-- One message of the org.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id WHERE m.id = $1 AND m.org_id = $2

-- name: messages_newest
-- A page of the org's messages, newest first, below an id.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id WHERE m.org_id = $1 AND m.id < $3
ORDER BY m.id DESC LIMIT $2

-- name: messages_by_status
-- The same, in one status.
SELECT {message}, {delivery} FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = $3 AND d.message_id < $4 ORDER BY d.message_id DESC LIMIT $2

-- name: messages_by_recipient
-- The same, for one recipient, and one status if given.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.recipient = $3 AND d.status = coalesce(CAST($4 AS text), d.status) AND m.id < $5
ORDER BY m.id DESC LIMIT $2

-- name: messages_by_dossier
-- The same, for one dossier, and one status and recipient if given.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $3 AND d.status = coalesce(CAST($4 AS text), d.status)
    AND m.recipient = coalesce(CAST($5 AS text), m.recipient) AND m.id < $6
ORDER BY m.id DESC LIMIT $2

-- name: messages_count
-- For the paginated list, which shows the total.
SELECT count(*) FROM message WHERE org_id = $1

-- name: messages_count_dossier
-- The same, for one dossier.
SELECT count(*) FROM message WHERE org_id = $1 AND dossier_id = $2

-- name: page_descending
-- One page of the paginated list.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 ORDER BY m.id DESC LIMIT $2 OFFSET $3

-- name: page_ascending
-- The same, oldest first.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 ORDER BY m.id LIMIT $2 OFFSET $3

-- name: page_dossier_descending
-- The same, for one dossier.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 ORDER BY m.id DESC LIMIT $2 OFFSET $3

-- name: page_dossier_ascending
-- The same, for one dossier, oldest first.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 ORDER BY m.id LIMIT $2 OFFSET $3

-- name: attempts_of
-- The attempts of a message, in order.
SELECT message_id, fence, generation, attempt_no, status, error_code, error_message, response, next_retry_at,
    created_at, finished_at
FROM attempt WHERE message_id = $1 ORDER BY fence

-- name: reports_of
-- The status updates of a message, in the order in which they were received.
SELECT at, received_at, kind, body, wamid, fence, error_code FROM report WHERE message_id = $1 ORDER BY received_at, at

-- name: events_of
-- What no other table has of a message's timeline.
SELECT at, kind, detail FROM event WHERE message_id = $1 ORDER BY id

-- name: delivery_get
-- The state of a message, without a lock.
SELECT {delivery} FROM delivery d WHERE message_id = $1

-- name: key_used
-- Whether the org used an idempotency key before.
SELECT id FROM message WHERE org_id = $1 AND idempotency_key = $2

-- name: lives_attempts_org
-- For an org's messages between two ids; the messages themselves were read before.
SELECT a.message_id, a.fence, a.generation, a.attempt_no, a.status, a.error_code, a.error_message, a.response,
    a.next_retry_at, a.created_at, a.finished_at
FROM message m JOIN attempt a ON a.message_id = m.id WHERE m.org_id = $1 AND m.id BETWEEN $2 AND $3

-- name: lives_reports_org
-- Status updates of a range of the org's messages.
SELECT r.message_id, r.at, r.received_at, r.kind, r.body, r.wamid, r.fence, r.error_code
FROM message m JOIN report r ON r.message_id = m.id WHERE m.org_id = $1 AND m.id BETWEEN $2 AND $3

-- name: lives_events_org
-- Timeline events of a range of the org's messages.
SELECT e.message_id, e.id, e.at, e.kind, e.detail
FROM message m JOIN event e ON e.message_id = m.id WHERE m.org_id = $1 AND m.id BETWEEN $2 AND $3

-- name: lives_attempts_dossier
-- Attempts of a range of one dossier's messages.
SELECT a.message_id, a.fence, a.generation, a.attempt_no, a.status, a.error_code, a.error_message, a.response,
    a.next_retry_at, a.created_at, a.finished_at
FROM message m JOIN attempt a ON a.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 AND m.id BETWEEN $2 AND $3

-- name: lives_reports_dossier
-- Status updates of one dossier's messages.
SELECT r.message_id, r.at, r.received_at, r.kind, r.body, r.wamid, r.fence, r.error_code
FROM message m JOIN report r ON r.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 AND m.id BETWEEN $2 AND $3

-- name: lives_events_dossier
-- Timeline events of one dossier's messages.
SELECT e.message_id, e.id, e.at, e.kind, e.detail
FROM message m JOIN event e ON e.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 AND m.id BETWEEN $2 AND $3
