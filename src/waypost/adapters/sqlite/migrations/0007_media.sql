-- Customers' files: fetched in the background, kept in a blob store. Times are microseconds since 1970 (UTC).

CREATE TABLE media (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id TEXT NOT NULL,
    number TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    provider_id TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    told_sha256 TEXT,
    filename TEXT,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER,
    owner TEXT,
    size INTEGER,
    sha256 TEXT,
    key TEXT,
    error TEXT,
    created_at INTEGER NOT NULL,
    stored_at INTEGER,
    UNIQUE (conversation_id, position)
) STRICT;

-- Only files that are still to be fetched are due.
CREATE INDEX media_due ON media (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX media_by_state ON media (org_id, state, id);
CREATE INDEX media_ended ON media (created_at) WHERE due_at IS NULL;
