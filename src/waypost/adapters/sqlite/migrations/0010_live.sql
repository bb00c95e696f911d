-- Internal chats, team work on customer conversations, and the devices that follow feeds.

-- For chats: `pair` identifies a chat by its members, `own_feed` marks a group too large for its members' feeds,
-- `history` is what later members may read. For customer conversations: the assignee, the state and the labels.
ALTER TABLE conversation ADD COLUMN title TEXT;
ALTER TABLE conversation ADD COLUMN pair TEXT;
ALTER TABLE conversation ADD COLUMN own_feed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN history TEXT NOT NULL DEFAULT 'all';
ALTER TABLE conversation ADD COLUMN assignee TEXT;
ALTER TABLE conversation ADD COLUMN state TEXT NOT NULL DEFAULT 'open';
ALTER TABLE conversation ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
CREATE UNIQUE INDEX conversation_by_pair ON conversation (org_id, pair) WHERE pair IS NOT NULL;
CREATE INDEX conversation_by_activity ON conversation (org_id, last_id_at, id) WHERE kind = 'customer';
CREATE INDEX conversation_assigned ON conversation (org_id, assignee, last_id_at, id) WHERE assignee IS NOT NULL;
CREATE INDEX conversation_closed ON conversation (org_id, last_id_at, id) WHERE state = 'closed';
CREATE INDEX lane_of_people ON lane (org_id, floor) WHERE floor <> 'bot';

-- Chat members. They may read entries after `sees_after`, and follow the feed of a large group after `feed_from`.
CREATE TABLE member (
    conversation_id INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    sees_after INTEGER NOT NULL,
    feed_from INTEGER NOT NULL,
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_by_user ON member (user_id, conversation_id);

-- Posts by the sender's own message id: the key deduplicates them.
CREATE TABLE post (
    sender TEXT NOT NULL,
    client_message_id TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id_at INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (sender, client_message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX post_by_age ON post (id_at);

ALTER TABLE entry ADD COLUMN client_message_id TEXT;
ALTER TABLE entry ADD COLUMN deleted_at INTEGER;
CREATE INDEX entry_by_message ON entry (message_id) WHERE message_id IS NOT NULL;

-- A user's read position in a conversation, across devices.
CREATE TABLE read_marker (
    user_id TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (user_id, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX read_marker_by_conversation ON read_marker (conversation_id);

-- A user's device, and its cursor in each feed.
CREATE TABLE device (
    user_id TEXT NOT NULL,
    device_id TEXT NOT NULL,
    org_id TEXT NOT NULL,
    epoch TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    push TEXT,
    PRIMARY KEY (user_id, device_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE device_cursor (
    user_id TEXT NOT NULL,
    device_id TEXT NOT NULL,
    feed TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (user_id, device_id, feed)
) STRICT, WITHOUT ROWID;

-- The conversation that shows a message, and so its statuses.
ALTER TABLE delivery ADD COLUMN talk INTEGER;
UPDATE delivery SET talk = (SELECT m.conversation_id FROM message m WHERE m.id = delivery.message_id);
