-- name: audit_insert
-- In the transaction of the change that it describes.
INSERT INTO audit (org_id, at, entity_type, entity_id, action, actor, details) VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: audit_newest
-- A page of the org's audit trail, newest first, below an id.
SELECT id, org_id, at, entity_type, entity_id, action, actor, details
FROM audit WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3

-- name: audit_by_type
-- The same, for one type of entity.
SELECT id, org_id, at, entity_type, entity_id, action, actor, details
FROM audit WHERE org_id = $1 AND entity_type = $4 AND id < $2 ORDER BY id DESC LIMIT $3

-- name: audit_by_entity
-- The same, for one entity.
SELECT id, org_id, at, entity_type, entity_id, action, actor, details
FROM audit WHERE org_id = $1 AND entity_type = $4 AND entity_id = $5 AND id < $2 ORDER BY id DESC LIMIT $3
