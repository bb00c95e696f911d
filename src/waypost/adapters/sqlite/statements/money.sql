-- name: cost_insert (set-wise)
INSERT INTO cost (number, wamid, org_id, message_id, dossier_id, template, category, type, model, country,
    amount_micros, currency, at, day)
SELECT u.value ->> 0, u.value ->> 1, u.value ->> 2, u.value ->> 3, m.dossier_id, m.template, u.value ->> 4,
    u.value ->> 5, u.value ->> 6, u.value ->> 7, u.value ->> 8, u.value ->> 9, u.value ->> 10, u.value ->> 11
FROM json_each($1) AS u LEFT JOIN message m ON m.id = u.value ->> 3 WHERE TRUE
ON CONFLICT (number, wamid) DO NOTHING
