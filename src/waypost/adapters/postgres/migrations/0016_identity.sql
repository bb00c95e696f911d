-- The identity of this database, for stores outside it: written once, and kept by every copy.
CREATE TABLE identity (
    part text PRIMARY KEY,
    name text NOT NULL
);
