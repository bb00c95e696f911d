-- Which database this is, for what is kept outside it: written once, and carried along by every copy.
CREATE TABLE identity (
    part TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
