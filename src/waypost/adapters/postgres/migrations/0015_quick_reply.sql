-- Quick replies of a team; `folded` is the name without regard to case, which is unique.
CREATE TABLE quick_reply (
    org_id text NOT NULL REFERENCES org,
    folded text NOT NULL,
    name text NOT NULL,
    text text NOT NULL,
    updated_at bigint NOT NULL,
    updated_by text NOT NULL,
    PRIMARY KEY (org_id, folded)
);
