-- Connected mailboxes, and failover numbers. Times are microseconds since 1970 (UTC).

CREATE TABLE mailbox (
    id text PRIMARY KEY,
    org_id text NOT NULL REFERENCES org,
    address text NOT NULL,
    name text NOT NULL,
    domain text NOT NULL,
    host text NOT NULL,
    port integer NOT NULL,
    security text NOT NULL,
    username text,
    sealed_password bytea,
    enabled boolean NOT NULL,
    pace integer NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    UNIQUE (org_id, address)
);

-- Another number of the same org, which may send if this one cannot for long.
ALTER TABLE number ADD COLUMN failover text;
CREATE INDEX number_by_failover ON number (failover) WHERE failover IS NOT NULL;
