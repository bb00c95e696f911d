-- name: mailbox_insert
-- No row if the org has this address already.
INSERT INTO mailbox (id, org_id, address, name, domain, host, port, security, username, sealed_password, enabled,
    created_at, updated_at, pace)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (org_id, address) DO NOTHING RETURNING id

-- name: mailboxes_all
-- Every mailbox, for the cache of each process.
SELECT {mailbox} FROM mailbox ORDER BY created_at, id

-- name: mailboxes_of
-- The org's mailboxes, oldest first.
SELECT {mailbox} FROM mailbox WHERE org_id = $1 ORDER BY created_at, id

-- name: mailbox_change
-- NULL keeps a column as it is.
UPDATE mailbox SET name = coalesce($3, name), domain = coalesce($4, domain), host = coalesce($5, host),
    port = coalesce($6, port), security = coalesce($7, security), username = coalesce($8, username),
    sealed_password = coalesce($9, sealed_password), enabled = coalesce($10, enabled), pace = coalesce($11, pace),
    updated_at = $12
WHERE org_id = $1 AND id = $2
RETURNING {mailbox}

-- name: mailbox_reseal
-- Only if it is unchanged since it was read.
UPDATE mailbox SET sealed_password = $4 WHERE org_id = $1 AND id = $2 AND sealed_password = $3 RETURNING id

-- name: mailbox_delete
-- No row if the org has no such mailbox.
DELETE FROM mailbox WHERE org_id = $1 AND id = $2 RETURNING id

-- name: mailbox_opened
-- The server may accept what it refused before. A disabled mailbox stays disabled.
DELETE FROM gate WHERE name = $1 AND org_id = $2 AND code <> 'NUMBER_DISABLED'

-- name: sender_forgotten
-- The gates of a number or mailbox that is gone: its messages would wait behind them for ever.
DELETE FROM gate WHERE name = $1 AND org_id = $2
