-- Internal chats, team work on customer conversations, and the devices that follow feeds.

-- For chats: `pair` identifies a chat by its members, `own_feed` marks a group too large for its members' feeds,
-- `history` is what later members may read. For customer conversations: the assignee, the state and the labels.
ALTER TABLE conversation ADD COLUMN title text;
ALTER TABLE conversation ADD COLUMN pair text;
ALTER TABLE conversation ADD COLUMN own_feed boolean NOT NULL DEFAULT FALSE;
ALTER TABLE conversation ADD COLUMN history text NOT NULL DEFAULT 'all';
ALTER TABLE conversation ADD COLUMN assignee text;
ALTER TABLE conversation ADD COLUMN state text NOT NULL DEFAULT 'open';
ALTER TABLE conversation ADD COLUMN labels text NOT NULL DEFAULT '[]';
CREATE UNIQUE INDEX conversation_by_pair ON conversation (org_id, pair) WHERE pair IS NOT NULL;
CREATE INDEX conversation_by_activity ON conversation (org_id, last_id_at, id) WHERE kind = 'customer';
CREATE INDEX conversation_assigned ON conversation (org_id, assignee, last_id_at, id) WHERE assignee IS NOT NULL;
CREATE INDEX conversation_closed ON conversation (org_id, last_id_at, id) WHERE state = 'closed';
CREATE INDEX lane_of_people ON lane (org_id, floor) WHERE floor <> 'bot';

-- Chat members. They may read entries after `sees_after`, and follow the feed of a large group after `feed_from`.
CREATE TABLE member (
    conversation_id bigint NOT NULL,
    user_id text NOT NULL,
    sees_after bigint NOT NULL,
    feed_from bigint NOT NULL,
    joined_at bigint NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX member_by_user ON member (user_id, conversation_id);

-- Posts by the sender's own message id: the key deduplicates them.
CREATE TABLE post (
    sender text NOT NULL,
    client_message_id text NOT NULL,
    conversation_id bigint NOT NULL,
    position bigint NOT NULL,
    id_at bigint NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (sender, client_message_id)
);
CREATE INDEX post_by_age ON post (id_at);

ALTER TABLE entry ADD COLUMN client_message_id text;
ALTER TABLE entry ADD COLUMN deleted_at bigint;
CREATE INDEX entry_by_message ON entry (message_id) WHERE message_id IS NOT NULL;

-- A user's read position in a conversation, across devices.
CREATE TABLE read_marker (
    user_id text NOT NULL,
    conversation_id bigint NOT NULL,
    position bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (user_id, conversation_id)
);
CREATE INDEX read_marker_by_conversation ON read_marker (conversation_id);

-- A user's device, and its cursor in each feed.
CREATE TABLE device (
    user_id text NOT NULL,
    device_id text NOT NULL,
    org_id text NOT NULL,
    epoch text NOT NULL,
    created_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    push text,
    PRIMARY KEY (user_id, device_id)
);
CREATE TABLE device_cursor (
    user_id text NOT NULL,
    device_id text NOT NULL,
    feed text NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (user_id, device_id, feed)
);

-- The conversation that shows a message, and so its statuses.
ALTER TABLE delivery ADD COLUMN talk bigint;
UPDATE delivery d SET talk = m.conversation_id FROM message m WHERE m.id = d.message_id AND m.conversation_id IS NOT NULL;
