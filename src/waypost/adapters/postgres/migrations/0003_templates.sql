-- Message templates of the connected accounts, per org. Times are microseconds since 1970 (UTC).

-- Every change to an account's list locks this row first.
CREATE TABLE template_sync (
    org_id text NOT NULL REFERENCES org,
    waba_id text NOT NULL,
    synced_at bigint NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (org_id, waba_id)
);

-- The status is a column of its own because it changes without the definition.
CREATE TABLE template (
    org_id text NOT NULL,
    waba_id text NOT NULL,
    name text NOT NULL,
    language text NOT NULL,
    status text NOT NULL,
    status_at bigint NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY (org_id, waba_id, name, language)
);
