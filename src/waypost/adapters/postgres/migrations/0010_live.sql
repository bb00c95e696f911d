-- People write to each other, and work on customers' conversations together; every device follows its feeds.

-- Among people: `pair` says what makes a chat the same one, `own_feed` that the group is too large for its members' feeds,
-- `history` what those who join later may read. With customers: who works on it, and how far that is.
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

-- Who takes part in a chat. They read what came after `sees_after`; the feed of a large group is theirs after `feed_from`.
CREATE TABLE member (
    conversation_id bigint NOT NULL,
    user_id text NOT NULL,
    sees_after bigint NOT NULL,
    feed_from bigint NOT NULL,
    joined_at bigint NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX member_by_user ON member (user_id, conversation_id);

-- What was posted, by the sender's own id for it: the key is its dedup.
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

-- Up to where somebody has read a conversation, on whichever device.
CREATE TABLE read_marker (
    user_id text NOT NULL,
    conversation_id bigint NOT NULL,
    position bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (user_id, conversation_id)
);
CREATE INDEX read_marker_by_conversation ON read_marker (conversation_id);

-- A screen of somebody's, and up to where it has each feed.
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

-- The conversation that a message is shown in, so that its statuses are.
ALTER TABLE delivery ADD COLUMN talk bigint;
UPDATE delivery d SET talk = m.conversation_id FROM message m WHERE m.id = d.message_id AND m.conversation_id IS NOT NULL;
