-- Push notifications for users who are offline.

-- When a device's push service may be tried again, and how many attempts in a row have failed.
ALTER TABLE device ADD COLUMN push_after INTEGER;
ALTER TABLE device ADD COLUMN push_failures INTEGER NOT NULL DEFAULT 0;
CREATE INDEX device_subscribed ON device (org_id) WHERE push IS NOT NULL;

-- The feeds that subscribed devices follow, and the position of the scan: posting writes nothing for it. Subscribing
-- and unsubscribing in an org lock the team's row first.
CREATE TABLE notice_feed (
    feed TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A conversation that a feed's followers may need a notification of: its latest message and that item's number in the
-- feed. A worker may take it at `free_at`; `due_at` is when it must be checked, NULL if nothing came since.
CREATE TABLE notice (
    feed TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    due_at INTEGER,
    free_at INTEGER NOT NULL,
    owner TEXT,
    fence INTEGER NOT NULL,
    PRIMARY KEY (feed, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notice_free ON notice (free_at);

-- The position up to which a device was notified of a conversation; `told_at` is NULL if no notification could be sent.
CREATE TABLE notice_told (
    user_id TEXT NOT NULL,
    device_id TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    told_at INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (user_id, device_id, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notice_told_by_age ON notice_told (at);
