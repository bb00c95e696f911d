-- What was said, found by its words. Kept behind the feeds by whoever works: nobody who writes waits for it.

-- Up to where each feed is in the index.
CREATE TABLE search_cursor (
    feed TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An entry by its words (rules/search.py) and by who may look for it. Ids go by time: the newest are found first, the
-- oldest forgotten first.
CREATE TABLE search_entry (
    id INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    words TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX search_entry_by_place ON search_entry (conversation_id, position);

-- The words come folded, so that this only has to tell them apart; where in an entry they stand is of no interest.
CREATE VIRTUAL TABLE search_words USING fts5 (
    words, content = 'search_entry', content_rowid = 'id', tokenize = "ascii tokenchars '|'", detail = 'none'
);
CREATE TRIGGER search_entry_comes AFTER INSERT ON search_entry BEGIN
    INSERT INTO search_words (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER search_entry_goes AFTER DELETE ON search_entry BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', old.id, old.words);
END;
