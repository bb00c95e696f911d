-- Whoever reads behind the feeds, and up to where: the index of words, and what hands bodies over to the Log.
CREATE TABLE feed_reader (
    reader text NOT NULL,
    feed text NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (reader, feed)
) WITH (fillfactor = 50);
INSERT INTO feed_reader (reader, feed, seq) SELECT 'search', feed, seq FROM search_cursor;
DROP TABLE search_cursor;

-- Which part of a feed the Log has, and since when: a while later the bodies of its messages are emptied here.
CREATE TABLE handed_over (
    feed text NOT NULL,
    since bigint NOT NULL,
    upto bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (feed, upto)
);
CREATE INDEX handed_over_by_age ON handed_over (at);

-- What two conversations that became one have moved, found without reading all that was ever said there.
CREATE INDEX entry_moved ON entry (conversation_id, position) WHERE kept_in IS NOT NULL;
