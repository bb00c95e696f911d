-- name: failover_look
-- Skips what anybody holds: a claim may be taking it this moment.
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
