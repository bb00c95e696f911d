-- name: failover_routes
-- One row per gate that closes a number for long, unless a gate would stop the other number as well.
-- SQLite keeps this join order: few numbers have a failover, and fewer of them a closed gate.
SELECT o.id, o.org_id, o.sender, o.template, f.id, g.kind || ': ' || g.reason
FROM number n CROSS JOIN number f CROSS JOIN gate g CROSS JOIN outlet o
WHERE n.failover IS NOT NULL AND f.id = n.failover AND f.org_id = n.org_id
    AND g.org_id = n.org_id AND g.name IN ('number:' || n.id, 'account:' || n.waba_id)
    AND (g.until IS NULL OR g.until > $2) AND g.code <> 'NUMBER_DISABLED'
    AND o.org_id = n.org_id AND o.sender = n.id
    AND (o.template = '' OR f.waba_id = n.waba_id)
    AND EXISTS (SELECT 1 FROM ready r WHERE r.outlet = o.id)
    AND NOT EXISTS (
        SELECT 1 FROM gate x
        WHERE x.org_id = n.org_id AND x.name IN ('org:' || n.org_id, 'number:' || n.id, 'number:' || f.id, 'account:' || f.waba_id,
            'template:' || f.waba_id || '/' || o.template)
            AND (x.until IS NULL OR x.until > $1)
            AND (x.name <> 'number:' || n.id OR x.code = 'NUMBER_DISABLED')
    )

-- name: failover_look
-- Every attempt that did not provably fail is doubtful; `failed_over` is recorded once per message.
SELECT r.message_id, r.rank, m.channel, d.queue_id IS NOT NULL, m.template, m.payload,
    EXISTS (SELECT 1 FROM attempt a WHERE a.message_id = r.message_id AND a.status <> 'FAILED'),
    EXISTS (SELECT 1 FROM event e WHERE e.message_id = r.message_id AND e.kind = 'failed_over'),
    p.expires_at, p.blocked_until
FROM ready r
JOIN delivery d ON d.message_id = r.message_id
JOIN message m ON m.id = r.message_id
LEFT JOIN pair p ON p.sender = $2 AND p.recipient = m.recipient
WHERE r.outlet = $1 AND (r.rank, r.message_id) > ($3, $4) AND d.status = 'QUEUED'
ORDER BY r.rank, r.message_id LIMIT $5

-- name: failover_message
-- Moves a message to the second number.
UPDATE message SET sender = $2 WHERE id = $1

-- name: failover_delivery
-- And its delivery, with the dispatch group of that number.
UPDATE delivery SET sender = $2, outlet = $3, deferred_by = NULL, updated_at = $4 WHERE message_id = $1

-- name: failover_ready
-- And its place among the messages that are ready.
UPDATE ready SET outlet = $2 WHERE message_id = $1
