-- The search index. Workers update it from the feeds, so that no writer waits for it.

-- The index's position in each feed.
CREATE TABLE search_cursor (
    feed TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An entry's words (rules/conversations/search.py) and the markers of who may find it. Ids are ordered by time: the
-- newest are found first, the oldest pruned first.
CREATE TABLE search_entry (
    id INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    words TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX search_entry_by_place ON search_entry (conversation_id, position);

-- The words are already folded, so the tokenizer only splits them; positions within an entry are not needed.
CREATE VIRTUAL TABLE search_words USING fts5 (
    words, content = 'search_entry', content_rowid = 'id', tokenize = "ascii tokenchars '|'", detail = 'none'
);
CREATE TRIGGER search_entry_comes AFTER INSERT ON search_entry BEGIN
    INSERT INTO search_words (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER search_entry_goes AFTER DELETE ON search_entry BEGIN
    INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', old.id, old.words);
END;
