-- Answers that a team gives often; `folded` is the name regardless of case, by which there is one of each.
CREATE TABLE quick_reply (
    org_id text NOT NULL REFERENCES org,
    folded text NOT NULL,
    name text NOT NULL,
    text text NOT NULL,
    updated_at bigint NOT NULL,
    updated_by text NOT NULL,
    PRIMARY KEY (org_id, folded)
);
