-- Message templates of the connected accounts, per org. Times are microseconds since 1970 (UTC).

-- Every change to an account's list locks this row first.
CREATE TABLE template_sync (
    org_id TEXT NOT NULL REFERENCES org,
    waba_id TEXT NOT NULL,
    synced_at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (org_id, waba_id)
) STRICT, WITHOUT ROWID;

-- The status is a column of its own because it changes without the definition.
CREATE TABLE template (
    org_id TEXT NOT NULL,
    waba_id TEXT NOT NULL,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    status TEXT NOT NULL,
    status_at INTEGER NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (org_id, waba_id, name, language)
) STRICT, WITHOUT ROWID;
