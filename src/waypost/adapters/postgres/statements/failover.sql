-- name: failover_look
-- Skips locked rows: a claim may be taking them.
SELECT r.message_id, r.rank, m.channel, d.queue_id IS NOT NULL, m.template, m.payload,
    EXISTS (SELECT 1 FROM attempt a WHERE a.message_id = r.message_id AND a.status <> 'FAILED'),
    EXISTS (SELECT 1 FROM event e WHERE e.message_id = r.message_id AND e.kind = 'failed_over'),
    (SELECT p.expires_at FROM pair p WHERE p.sender = $2 AND p.recipient = m.recipient),
    (SELECT p.blocked_until FROM pair p WHERE p.sender = $2 AND p.recipient = m.recipient)
FROM ready r
JOIN delivery d ON d.message_id = r.message_id
JOIN message m ON m.id = r.message_id
WHERE r.outlet = $1 AND (r.rank, r.message_id) > ($3, $4) AND d.status = 'QUEUED'
ORDER BY r.rank, r.message_id LIMIT $5
FOR UPDATE OF r, d SKIP LOCKED

-- name: failover_message (set-wise)
UPDATE message m SET sender = u.sender FROM unnest($1::bigint[], $2::text[]) AS u (id, sender) WHERE m.id = u.id

-- name: failover_delivery (set-wise)
UPDATE delivery d SET sender = u.sender, outlet = u.outlet, deferred_by = NULL, updated_at = u.updated_at
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS u (message_id, sender, outlet, updated_at)
WHERE d.message_id = u.message_id

-- name: failover_ready (set-wise)
UPDATE ready r SET outlet = u.outlet FROM unnest($1::bigint[], $2::bigint[]) AS u (message_id, outlet)
WHERE r.message_id = u.message_id
