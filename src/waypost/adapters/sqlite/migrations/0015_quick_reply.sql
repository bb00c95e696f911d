-- Quick replies of a team; `folded` is the name without regard to case, which is unique.
CREATE TABLE quick_reply (
    org_id TEXT NOT NULL REFERENCES org,
    folded TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT NOT NULL,
    PRIMARY KEY (org_id, folded)
) STRICT, WITHOUT ROWID;
