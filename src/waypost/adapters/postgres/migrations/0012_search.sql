-- The search index. Workers update it from the feeds, so that no writer waits for it.

-- The index's position in each feed.
CREATE TABLE search_cursor (
    feed text PRIMARY KEY,
    seq bigint NOT NULL
) WITH (fillfactor = 50);

-- An entry's words (rules/conversations/search.py) and the markers of who may find it. Ids are ordered by time: the
-- newest are found first, the oldest pruned first.
CREATE TABLE search_entry (
    id bigint PRIMARY KEY,
    conversation_id bigint NOT NULL,
    position bigint NOT NULL,
    words tsvector NOT NULL
);
CREATE UNIQUE INDEX search_entry_by_place ON search_entry (conversation_id, position);
CREATE INDEX search_entry_by_words ON search_entry USING gin (words);
