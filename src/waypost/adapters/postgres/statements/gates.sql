-- name: pairs_forget
-- Skips locked rows: another process may be pruning them, or a claim is sending to that recipient.
DELETE FROM pair WHERE ctid = ANY(ARRAY(
    SELECT p.ctid FROM pair p WHERE (p.expires_at < $1 OR p.expires_at IS NULL)
        AND p.free_at < $1 AND p.blocked_until < $1 AND p.counted_at < $1 - 86400000000
    LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING sender
