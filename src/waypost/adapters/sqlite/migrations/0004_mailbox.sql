-- Connected mailboxes, and failover numbers. Times are microseconds since 1970 (UTC).

CREATE TABLE mailbox (
    id TEXT PRIMARY KEY,
    org_id TEXT NOT NULL REFERENCES org,
    address TEXT NOT NULL,
    name TEXT NOT NULL,
    domain TEXT NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL,
    security TEXT NOT NULL,
    username TEXT,
    sealed_password BLOB,
    enabled INTEGER NOT NULL,
    pace INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (org_id, address)
) STRICT;

-- Another number of the same org, which may send if this one cannot for long.
ALTER TABLE number ADD COLUMN failover TEXT;
CREATE INDEX number_by_failover ON number (failover) WHERE failover IS NOT NULL;
