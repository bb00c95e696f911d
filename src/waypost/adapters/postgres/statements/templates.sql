-- name: template_insert (set-wise)
INSERT INTO template (org_id, waba_id, name, language, status, status_at, definition)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[])

-- name: templates_of
-- By the bytes of the names, as SQLite orders them, whatever the database's collation.
SELECT status, definition FROM template WHERE org_id = $1 AND waba_id = $2 ORDER BY name COLLATE "C", language COLLATE "C"
