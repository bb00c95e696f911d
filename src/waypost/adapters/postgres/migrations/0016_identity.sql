-- Which database this is, for what is kept outside it: written once, and carried along by every copy.
CREATE TABLE identity (
    part text PRIMARY KEY,
    name text NOT NULL
);
