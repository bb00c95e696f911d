-- A consent counts from when it was said (`at`); what was sent before we heard of it was sent in good faith.
ALTER TABLE consent ADD COLUMN heard_at bigint;
