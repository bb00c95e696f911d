-- name: ready_of
-- Which of these messages are ready, and in which dispatch group: a closed gate may stop them.
SELECT message_id, outlet FROM ready WHERE message_id = ANY($1::bigint[])

-- name: outlets_standing
-- Each dispatch group with the gate in front, as `outlets_busy` finds it, and the permits that it draws from.
SELECT o.id, o.org_id, o.sender, o.template, n.waba_id, coalesce(n.pace, mb.pace), n.tier, 0, {gate},
    q.name, q.free_at, q.used, q.since, q.most, p.name, p.free_at, p.used, p.since, p.most,
    t.name, t.free_at, t.used, t.since, t.most
FROM outlet o
LEFT JOIN number n ON n.id = o.sender
{part gate_in_front at $2}
LEFT JOIN permit q ON q.name = 'quota:' || o.org_id
LEFT JOIN permit p ON p.name = 'pace:' || o.sender
LEFT JOIN permit t ON t.name = 'tier:' || o.sender
WHERE o.id = ANY($1::bigint[])

-- name: heads_of
-- The head of each message's queue.
SELECT l.message_id, q.head FROM queue_line l JOIN queue q ON q.id = l.queue_id
WHERE l.message_id = ANY($1::bigint[]) AND q.head IS NOT NULL

-- name: number_answered
-- Waits for a concurrent change of the number, because the token may have changed afterwards.
INSERT INTO sign (name, at) SELECT 'number:' || id, $3::bigint FROM number WHERE id = $1 AND updated_at = $2 FOR SHARE
ON CONFLICT (name) DO UPDATE SET at = excluded.at WHERE sign.at < excluded.at

-- name: permits_of
-- Several permits at once, without a lock.
SELECT name, free_at, used, since, most FROM permit WHERE name = ANY($1::text[])

-- name: messages_some
-- Several messages of the org at once.
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.id = ANY($2::bigint[]) AND m.org_id = $1

-- name: conversations_some
-- Several conversations of the org at once.
SELECT {conversation} FROM conversation c WHERE c.id = ANY($2::bigint[]) AND c.org_id = $1

-- name: contacts_some
-- Several contacts of the org with their addresses.
SELECT k.id, k.org_id, k.name, k.username, k.dossier_id, a.address
FROM contact k LEFT JOIN contact_address a ON a.contact_id = k.id
WHERE k.id = ANY($2::bigint[]) AND k.org_id = $1
