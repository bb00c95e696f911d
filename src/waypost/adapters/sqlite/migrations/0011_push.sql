-- Who is away is told that a message waits.

-- When a device's push service may be asked again, and how many tries in a row came to nothing.
ALTER TABLE device ADD COLUMN push_after INTEGER;
ALTER TABLE device ADD COLUMN push_failures INTEGER NOT NULL DEFAULT 0;
CREATE INDEX device_subscribed ON device (org_id) WHERE push IS NOT NULL;

-- The feeds that somebody with a subscription follows, and up to where they were looked through: who posts writes
-- nothing for it. The row of a team is also what whoever subscribes or ends it in that org takes first.
CREATE TABLE notice_feed (
    feed TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A conversation that the followers of a feed may have to be told of: its latest message and that one's place in the
-- feed. It may be taken at `free_at`; `due_at` is when somebody must look, None while nothing came since it was taken.
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

-- Up to where a device was told of a conversation; `told_at` is None where nobody could.
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
