-- Contacts, conversations, turns and feeds.

-- A contact with all its addresses: phone numbers and business-scoped user ids; `met_as` was the first.
CREATE TABLE contact (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id TEXT NOT NULL,
    met_as TEXT NOT NULL,
    name TEXT,
    username TEXT,
    dossier_id INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (org_id, met_as)
) STRICT;
CREATE TABLE contact_address (
    org_id TEXT NOT NULL,
    address TEXT NOT NULL,
    contact_id INTEGER NOT NULL,
    PRIMARY KEY (org_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX contact_address_by_contact ON contact_address (contact_id);

-- A conversation of one number with one contact. `position` and `last_id_at` are those of its latest entry.
CREATE TABLE conversation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    number TEXT NOT NULL,
    contact_id INTEGER,
    address TEXT NOT NULL,
    position INTEGER NOT NULL,
    last_id_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX conversation_by_contact ON conversation (contact_id, number) WHERE contact_id IS NOT NULL;

-- The entries of conversations, in order; never updated.
CREATE TABLE entry (
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sender TEXT NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    wamid TEXT,
    message_id INTEGER,
    PRIMARY KEY (conversation_id, position)
) STRICT, WITHOUT ROWID;

-- Inbound messages: the key deduplicates them, and finds the message that a reply or an edit refers to.
CREATE TABLE arrival (
    number TEXT NOT NULL,
    wamid TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (number, wamid)
) STRICT, WITHOUT ROWID;
CREATE INDEX arrival_by_age ON arrival (received_at);

-- Turn states; see rules/conversations/turn_state.py.
CREATE TABLE lane (
    conversation_id INTEGER PRIMARY KEY,
    org_id TEXT NOT NULL,
    tail INTEGER NOT NULL,
    done INTEGER NOT NULL,
    hi INTEGER,
    fence INTEGER NOT NULL,
    first_at INTEGER,
    due_at INTEGER,
    owner TEXT,
    claimed_at INTEGER,
    lease_until INTEGER,
    tries INTEGER NOT NULL,
    floor TEXT NOT NULL
) STRICT;
CREATE INDEX lane_due ON lane (due_at) WHERE owner IS NULL AND due_at IS NOT NULL;
CREATE INDEX lane_held ON lane (lease_until) WHERE owner IS NOT NULL;
CREATE INDEX lane_by_owner ON lane (owner) WHERE owner IS NOT NULL;

-- Ended turns: one row each, which shows that a burst was answered once.
CREATE TABLE turn (
    conversation_id INTEGER NOT NULL,
    hi INTEGER NOT NULL,
    lo INTEGER NOT NULL,
    org_id TEXT NOT NULL,
    state TEXT NOT NULL,
    replies INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (conversation_id, hi)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_failed ON turn (org_id, ended_at) WHERE state = 'failed';

-- Feeds: gapless lists of changes, and their heads.
CREATE TABLE feed (
    name TEXT PRIMARY KEY,
    head INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE feed_item (
    feed TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (feed, seq)
) STRICT, WITHOUT ROWID;

-- The conversation that a message answers; and messages exempt from consent: the confirmation of an opt-out.
ALTER TABLE message ADD COLUMN conversation_id INTEGER;
ALTER TABLE message ADD COLUMN exempt INTEGER NOT NULL DEFAULT 0;
CREATE INDEX message_by_conversation ON message (conversation_id, id) WHERE conversation_id IS NOT NULL;
