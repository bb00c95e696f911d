-- Where an entry is in the Log, if it was moved since it was stored; an empty body is there and no longer here.
ALTER TABLE entry ADD COLUMN kept_in INTEGER;
ALTER TABLE entry ADD COLUMN kept_at INTEGER;
-- How far a message of ours came, kept by a Log in these tables: generation * 10 + rank, which only grows, and the word.
ALTER TABLE entry ADD COLUMN standing INTEGER;
ALTER TABLE entry ADD COLUMN status TEXT;
