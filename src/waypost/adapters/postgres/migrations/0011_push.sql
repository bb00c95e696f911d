-- Push notifications for users who are offline.

-- When a device's push service may be tried again, and how many attempts in a row have failed.
ALTER TABLE device ADD COLUMN push_after bigint;
ALTER TABLE device ADD COLUMN push_failures bigint NOT NULL DEFAULT 0;
CREATE INDEX device_subscribed ON device (org_id) WHERE push IS NOT NULL;

-- The feeds that subscribed devices follow, and the position of the scan: posting writes nothing for it. Subscribing
-- and unsubscribing in an org lock the team's row first.
CREATE TABLE notice_feed (
    feed text PRIMARY KEY,
    seq bigint NOT NULL
);

-- A conversation that a feed's followers may need a notification of: its latest message and that item's number in the
-- feed. A worker may take it at `free_at`; `due_at` is when it must be checked, NULL if nothing came since.
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

-- The position up to which a device was notified of a conversation; `told_at` is NULL if no notification could be sent.
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
