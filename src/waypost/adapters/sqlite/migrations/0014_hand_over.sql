-- Whoever reads behind the feeds, and up to where: the index of words, and what hands bodies over to the Log.
CREATE TABLE feed_reader (
    reader TEXT NOT NULL,
    feed TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (reader, feed)
) STRICT, WITHOUT ROWID;
INSERT INTO feed_reader (reader, feed, seq) SELECT 'search', feed, seq FROM search_cursor;
DROP TABLE search_cursor;

-- Which part of a feed the Log has, and since when: a while later the bodies of its messages are emptied here.
CREATE TABLE handed_over (
    feed TEXT NOT NULL,
    since INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (feed, upto)
) STRICT, WITHOUT ROWID;
CREATE INDEX handed_over_by_age ON handed_over (at);

-- What is moved to another conversation is found there at once: its body may be in the Log only, and not be read again.
CREATE TRIGGER search_entry_moves AFTER UPDATE ON search_entry BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', old.id, old.words);
    INSERT INTO search_words (rowid, words) VALUES (new.id, new.words);
END;

-- What two conversations that became one have moved, found without reading all that was ever said there.
CREATE INDEX entry_moved ON entry (conversation_id, position) WHERE kept_in IS NOT NULL;
