-- The archive key of an entry that was moved since it was stored; an empty body is only in the history store.
ALTER TABLE entry ADD COLUMN kept_in INTEGER;
ALTER TABLE entry ADD COLUMN kept_at INTEGER;
-- The status of a sent message, for history in these tables: generation * 10 + rank, which only grows, and its name.
ALTER TABLE entry ADD COLUMN standing INTEGER;
ALTER TABLE entry ADD COLUMN status TEXT;
