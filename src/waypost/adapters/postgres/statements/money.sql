-- name: cost_insert (set-wise)
INSERT INTO cost (number, wamid, org_id, message_id, dossier_id, template, category, type, model, country,
    amount_micros, currency, at, day)
SELECT u.number, u.wamid, u.org_id, u.message_id, m.dossier_id, m.template, u.category, u.type, u.model, u.country,
    u.amount_micros, u.currency, u.at, u.day
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::bigint[], $10::text[], $11::bigint[], $12::integer[])
    AS u (number, wamid, org_id, message_id, category, type, model, country, amount_micros, currency, at, day)
LEFT JOIN message m ON m.id = u.message_id
ORDER BY u.number, u.wamid
ON CONFLICT (number, wamid) DO NOTHING

-- name: cost_link (set-wise)
UPDATE cost c SET message_id = u.message_id, dossier_id = m.dossier_id, template = m.template
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS u (number, wamid, org_id, message_id)
JOIN message m ON m.id = u.message_id
WHERE c.number = u.number AND c.wamid = u.wamid AND c.org_id = u.org_id AND c.message_id IS NULL
