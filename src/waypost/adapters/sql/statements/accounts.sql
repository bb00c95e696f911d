-- name: org_insert
-- No row if the org exists.
INSERT INTO org (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING id

-- name: org_get
-- One org by its id.
SELECT id, created_at FROM org WHERE id = $1

-- name: orgs_all
-- All orgs, oldest first.
SELECT id, created_at FROM org ORDER BY created_at, id

-- name: key_insert
-- Only the digest of the key is stored.
INSERT INTO api_key (id, org_id, digest, role, label, created_at) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id

-- name: keys_of
-- The org's keys that are valid now, oldest first.
SELECT id, org_id, role, label, created_at, revoked_at FROM api_key
WHERE org_id = $1 AND (revoked_at IS NULL OR revoked_at > $2) ORDER BY created_at, id

-- name: key_revoke
-- No row if the key is unknown or was revoked before.
UPDATE api_key SET revoked_at = $3 WHERE org_id = $1 AND id = $2 AND (revoked_at IS NULL OR revoked_at > $3) RETURNING id

-- name: person_insert
-- Only the digest of the user's token is stored.
INSERT INTO person (id, org_id, digest, name, role, created_at) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id

-- name: people_of
-- The org's users, oldest first.
SELECT id, org_id, name, role, created_at FROM person WHERE org_id = $1 ORDER BY created_at, id

-- name: person_token
-- Replaces the token: the old one stops working at once.
UPDATE person SET digest = $3 WHERE org_id = $1 AND id = $2 RETURNING id

-- name: person_delete
-- No row if the org has no such user.
DELETE FROM person WHERE org_id = $1 AND id = $2 RETURNING id

-- name: caller_find
-- Who a token belongs to: an API key or a user. Runs on every request.
SELECT org_id, role, id, NULL AS person FROM api_key
WHERE digest = $1 AND (revoked_at IS NULL OR revoked_at > $2)
UNION ALL
SELECT org_id, role, NULL, id FROM person WHERE digest = $1

-- name: number_insert
-- No row if any org has connected the number.
INSERT INTO number (id, org_id, waba_id, sealed_token, sealed_app_secret, sealed_verify_token, graph_url,
    error_catalogue, enabled, created_at, updated_at, pace, tier, failover)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO NOTHING RETURNING id

-- name: numbers_all
-- Every connected number, for the cache of each process.
SELECT id, org_id, waba_id, sealed_token, sealed_app_secret, sealed_verify_token, graph_url, error_catalogue, enabled,
    created_at, updated_at, pace, tier, failover
FROM number ORDER BY created_at, id

-- name: numbers_of
-- The org's numbers, oldest first: without `from`, a message goes from the first.
SELECT id, org_id, waba_id, sealed_token, sealed_app_secret, sealed_verify_token, graph_url, error_catalogue, enabled,
    created_at, updated_at, pace, tier, failover
FROM number WHERE org_id = $1 ORDER BY created_at, id

-- name: number_change
-- NULL keeps a column as it is; $14 ends the failover.
UPDATE number SET waba_id = coalesce($3, waba_id), sealed_token = coalesce($4, sealed_token),
    sealed_app_secret = coalesce($5, sealed_app_secret), sealed_verify_token = coalesce($6, sealed_verify_token),
    graph_url = coalesce($7, graph_url), error_catalogue = coalesce($8, error_catalogue),
    enabled = coalesce($9, enabled), updated_at = $10, pace = coalesce($11, pace), tier = coalesce($12, tier),
    failover = CASE WHEN $14 THEN NULL ELSE coalesce($13, failover) END
WHERE org_id = $1 AND id = $2
RETURNING id, org_id, waba_id, sealed_token, sealed_app_secret, sealed_verify_token, graph_url, error_catalogue, enabled,
    created_at, updated_at, pace, tier, failover

-- name: number_reseal
-- Only if it is unchanged since it was read: a concurrent change seals the secret under the new key anyway.
UPDATE number SET sealed_token = $3, sealed_app_secret = $4, sealed_verify_token = $5
WHERE org_id = $1 AND id = $2 AND sealed_token = $6 AND sealed_app_secret = $7 AND sealed_verify_token = $8 RETURNING id

-- name: number_delete
-- No row if the org has no such number.
DELETE FROM number WHERE org_id = $1 AND id = $2 RETURNING id

-- name: numbers_tried
-- When each number last answered with its current token and URL.
SELECT n.id, s.at FROM number n JOIN sign s ON s.name = 'number:' || n.id WHERE n.org_id = $1

-- name: failover_ended
-- No number fails over to one that is gone.
UPDATE number SET failover = NULL WHERE failover = $1
