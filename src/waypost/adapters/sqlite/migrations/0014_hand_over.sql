-- Feed consumers and their positions: the search index, and archiving.
CREATE TABLE feed_reader (
    reader TEXT NOT NULL,
    feed TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (reader, feed)
) STRICT, WITHOUT ROWID;
INSERT INTO feed_reader (reader, feed, seq) SELECT 'search', feed, seq FROM search_cursor;
DROP TABLE search_cursor;

-- Archived ranges of a feed, and since when: after a grace period the bodies of their messages are emptied here.
CREATE TABLE handed_over (
    feed TEXT NOT NULL,
    since INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (feed, upto)
) STRICT, WITHOUT ROWID;
CREATE INDEX handed_over_by_age ON handed_over (at);

-- Moved entries are found in their new conversation at once: their bodies may be archived and are not read again.
CREATE TRIGGER search_entry_moves AFTER UPDATE ON search_entry BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', old.id, old.words);
    INSERT INTO search_words (rowid, words) VALUES (new.id, new.words);
END;

-- Finds the entries that a merge of conversations moved, without reading all entries.
CREATE INDEX entry_moved ON entry (conversation_id, position) WHERE kept_in IS NOT NULL;
