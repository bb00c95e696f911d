-- Feed consumers and their positions: the search index, and archiving.
CREATE TABLE feed_reader (
    reader text NOT NULL,
    feed text NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (reader, feed)
) WITH (fillfactor = 50);
INSERT INTO feed_reader (reader, feed, seq) SELECT 'search', feed, seq FROM search_cursor;
DROP TABLE search_cursor;

-- Archived ranges of a feed, and since when: after a grace period the bodies of their messages are emptied here.
CREATE TABLE handed_over (
    feed text NOT NULL,
    since bigint NOT NULL,
    upto bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (feed, upto)
);
CREATE INDEX handed_over_by_age ON handed_over (at);

-- Finds the entries that a merge of conversations moved, without reading all entries.
CREATE INDEX entry_moved ON entry (conversation_id, position) WHERE kept_in IS NOT NULL;
