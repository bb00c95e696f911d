-- What was said, found by its words. Kept behind the feeds by whoever works: nobody who writes waits for it.

-- Up to where each feed is in the index.
CREATE TABLE search_cursor (
    feed text PRIMARY KEY,
    seq bigint NOT NULL
) WITH (fillfactor = 50);

-- An entry by its words (rules/search.py) and by who may look for it. Ids go by time: the newest are found first, the
-- oldest forgotten first.
CREATE TABLE search_entry (
    id bigint PRIMARY KEY,
    conversation_id bigint NOT NULL,
    position bigint NOT NULL,
    words tsvector NOT NULL
);
CREATE UNIQUE INDEX search_entry_by_place ON search_entry (conversation_id, position);
CREATE INDEX search_entry_by_words ON search_entry USING gin (words);
