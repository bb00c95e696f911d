-- The identity of this database, for stores outside it: written once, and kept by every copy.
CREATE TABLE identity (
    part TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
