-- name: cost_insert
-- The first status with a charge counts, delivered or read: one row per provider id.
INSERT INTO cost (number, wamid, org_id, message_id, dossier_id, template, category, type, model, country,
    amount_micros, currency, at, day)
VALUES ($1, $2, $3, $4, (SELECT dossier_id FROM message WHERE id = $4), (SELECT template FROM message WHERE id = $4),
    $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (number, wamid) DO NOTHING

-- name: cost_link
-- A cost that was reported before its message was known gets the message's dossier and template.
UPDATE cost SET message_id = $4, dossier_id = (SELECT dossier_id FROM message WHERE id = $4),
    template = (SELECT template FROM message WHERE id = $4)
WHERE number = $1 AND wamid = $2 AND org_id = $3 AND message_id IS NULL

-- name: spend_total
-- What the org has spent since a day, for its budget.
SELECT CAST(coalesce(sum(amount_micros), 0) AS bigint) FROM cost WHERE org_id = $1 AND day >= $2 AND currency = $3

-- name: spend_by_day
-- Messages, messages without a price, and the sum, by day.
SELECT CAST(day AS text), currency, count(*), count(*) - count(amount_micros),
    CAST(coalesce(sum(amount_micros), 0) AS bigint)
FROM cost WHERE org_id = $1 AND day BETWEEN $2 AND $3 GROUP BY day, currency ORDER BY day, currency LIMIT $4

-- name: spend_by_template
-- The same by template, the most expensive first.
SELECT template, currency, count(*), count(*) - count(amount_micros), CAST(coalesce(sum(amount_micros), 0) AS bigint)
FROM cost WHERE org_id = $1 AND day BETWEEN $2 AND $3 GROUP BY template, currency ORDER BY 5 DESC, 3 DESC LIMIT $4

-- name: spend_by_category
-- The same by category.
SELECT category, currency, count(*), count(*) - count(amount_micros), CAST(coalesce(sum(amount_micros), 0) AS bigint)
FROM cost WHERE org_id = $1 AND day BETWEEN $2 AND $3 GROUP BY category, currency ORDER BY 5 DESC, 3 DESC LIMIT $4

-- name: spend_by_dossier
-- The same by dossier.
SELECT CAST(dossier_id AS text), currency, count(*), count(*) - count(amount_micros),
    CAST(coalesce(sum(amount_micros), 0) AS bigint)
FROM cost WHERE org_id = $1 AND day BETWEEN $2 AND $3 GROUP BY dossier_id, currency ORDER BY 5 DESC, 3 DESC LIMIT $4

-- name: on_the_way
-- A page of messages in that state: whether each changed since then, and its recipient if it will cost something.
SELECT d.message_id, d.updated_at >= $3, CASE WHEN m.template IS NOT NULL THEN m.recipient END
FROM (SELECT message_id, updated_at FROM delivery WHERE org_id = $1 AND status = $2 AND message_id < $5
    ORDER BY message_id DESC LIMIT $4) d
JOIN message m ON m.id = d.message_id

-- name: capped
-- The orgs that their budget stops.
SELECT org_id FROM gate WHERE code = 'BUDGET_REACHED'

-- name: cap
-- Another hold of the org stays unchanged.
INSERT INTO gate (org_id, name, kind, code, reason, since, until, times)
VALUES ($1, $2, 'hold', 'BUDGET_REACHED', $3, $4, NULL, 1) ON CONFLICT (org_id, name, kind) DO NOTHING RETURNING id

-- name: cap_lift
-- Opens only the hold that the budget closed.
DELETE FROM gate WHERE org_id = $1 AND name = 'org:' || $1 AND kind = 'hold' AND code = 'BUDGET_REACHED' RETURNING id
