-- name: pairs_forget
-- Skips what anybody holds: another process may be forgetting it this moment, or a claim be writing to that customer.
DELETE FROM pair WHERE ctid = ANY(ARRAY(
    SELECT p.ctid FROM pair p WHERE (p.expires_at < $1 OR p.expires_at IS NULL)
        AND p.free_at < $1 AND p.blocked_until < $1 AND p.counted_at < $1 - 86400000000
    LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING sender
