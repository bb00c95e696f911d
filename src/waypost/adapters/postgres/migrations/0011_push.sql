-- Who is away is told that a message waits.

-- When a device's push service may be asked again, and how many tries in a row came to nothing.
ALTER TABLE device ADD COLUMN push_after bigint;
ALTER TABLE device ADD COLUMN push_failures bigint NOT NULL DEFAULT 0;
CREATE INDEX device_subscribed ON device (org_id) WHERE push IS NOT NULL;

-- The feeds that somebody with a subscription follows, and up to where they were looked through: who posts writes
-- nothing for it. The row of a team is also what whoever subscribes or ends it in that org takes first.
CREATE TABLE notice_feed (
    feed text PRIMARY KEY,
    seq bigint NOT NULL
);

-- A conversation that the followers of a feed may have to be told of: its latest message and that one's place in the
-- feed. It may be taken at `free_at`; `due_at` is when somebody must look, None while nothing came since it was taken.
CREATE TABLE notice (
    feed text NOT NULL,
    conversation_id bigint NOT NULL,
    position bigint NOT NULL,
    seq bigint NOT NULL,
    due_at bigint,
    free_at bigint NOT NULL,
    owner text,
    fence bigint NOT NULL,
    PRIMARY KEY (feed, conversation_id)
);
CREATE INDEX notice_free ON notice (free_at);

-- Up to where a device was told of a conversation; `told_at` is None where nobody could.
CREATE TABLE notice_told (
    user_id text NOT NULL,
    device_id text NOT NULL,
    conversation_id bigint NOT NULL,
    position bigint NOT NULL,
    told_at bigint,
    at bigint NOT NULL,
    PRIMARY KEY (user_id, device_id, conversation_id)
);
CREATE INDEX notice_told_by_age ON notice_told (at);
