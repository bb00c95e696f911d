-- Data of the send checks: dispatch groups, permits, gates, windows, dossiers, consents; and the audit trail.

-- Dispatch groups: messages that the same gates can stop, a number's freeform messages or those of one template.
CREATE TABLE outlet (
    id INTEGER PRIMARY KEY,
    org_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    template TEXT NOT NULL,
    UNIQUE (org_id, sender, template)
) STRICT;
INSERT INTO outlet (org_id, sender, template)
SELECT DISTINCT org_id, sender, coalesce(template, '') FROM message ORDER BY 1, 2, 3;

ALTER TABLE delivery ADD COLUMN outlet INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN deferred_by TEXT;
UPDATE delivery SET outlet = (
    SELECT o.id FROM message m JOIN outlet o
    ON o.org_id = m.org_id AND o.sender = m.sender AND o.template = coalesce(m.template, '')
    WHERE m.id = delivery.message_id
);

ALTER TABLE ready ADD COLUMN outlet INTEGER NOT NULL DEFAULT 0;
UPDATE ready SET outlet = (SELECT outlet FROM delivery WHERE message_id = ready.message_id);
DROP INDEX ready_by_rank;
ALTER TABLE ready DROP COLUMN sender;
CREATE INDEX ready_by_outlet ON ready (outlet, rank, message_id);
ALTER TABLE later ADD COLUMN outlet INTEGER NOT NULL DEFAULT 0;
UPDATE later SET outlet = (SELECT outlet FROM delivery WHERE message_id = later.message_id);
ALTER TABLE later DROP COLUMN sender;

ALTER TABLE number ADD COLUMN pace INTEGER NOT NULL DEFAULT 80;
ALTER TABLE number ADD COLUMN tier INTEGER;

-- Messages with an `expiresAt`, until they leave the queue: one behind a gate must not wait for ever.
CREATE TABLE expiring (
    message_id INTEGER PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX expiring_by_time ON expiring (expires_at);
INSERT INTO expiring (message_id, expires_at)
SELECT m.id, m.expires_at FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.expires_at IS NOT NULL AND d.status IN ('QUEUED', 'SENDING');

-- Send allowances: `pace:` is a number's next free moment, `quota:` and `tier:` count draws since the window began.
CREATE TABLE permit (
    name TEXT PRIMARY KEY,
    free_at INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0,
    since INTEGER NOT NULL DEFAULT 0,
    most INTEGER
) STRICT;
-- Quotas in use: a draw changes `used`, hardly ever `since`.
CREATE INDEX permit_by_window ON permit (since);
INSERT INTO permit (name, most) SELECT 'quota:' || id, 1000 FROM org;
INSERT INTO permit (name) SELECT 'pace:' || id FROM number;

-- Gates: one row holds back any number of messages.
CREATE TABLE gate (
    id INTEGER PRIMARY KEY,
    org_id TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    reason TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER,
    times INTEGER NOT NULL,
    UNIQUE (org_id, name, kind)
) STRICT;
CREATE INDEX gate_by_org ON gate (org_id, id);
CREATE INDEX gate_throttle_by_end ON gate (until) WHERE kind = 'throttle';
INSERT INTO gate (org_id, name, kind, code, reason, since, until, times)
SELECT org_id, 'number:' || id, 'disabled', 'NUMBER_DISABLED', 'the number is disabled', updated_at, NULL, 1
FROM number WHERE NOT enabled;

-- Recipient states: the window between a number and a customer, and the send pace.
CREATE TABLE pair (
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    opened_at INTEGER,
    last_inbound_at INTEGER,
    expires_at INTEGER,
    free_at INTEGER NOT NULL DEFAULT 0,
    blocked_until INTEGER NOT NULL DEFAULT 0,
    blocked_times INTEGER NOT NULL DEFAULT 0,
    counted_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (sender, recipient)
) STRICT;
CREATE INDEX pair_by_expiry ON pair (expires_at);

-- The business's record of one person.
CREATE TABLE dossier (
    id INTEGER PRIMARY KEY,
    org_id TEXT NOT NULL,
    phone TEXT,
    email TEXT,
    name TEXT,
    external_ref TEXT,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX dossier_by_org ON dossier (org_id, id);
CREATE UNIQUE INDEX dossier_by_phone ON dossier (org_id, phone) WHERE phone IS NOT NULL;
CREATE UNIQUE INDEX dossier_by_ref ON dossier (org_id, external_ref) WHERE external_ref IS NOT NULL;

-- The latest consent of a dossier (`dossier:7`) or an address (`address:+49…`) for a channel; its history is in audit.
CREATE TABLE consent (
    org_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    channel TEXT NOT NULL,
    status TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (org_id, subject, channel)
) STRICT;

-- An org's own settings as JSON; a missing setting has its default.
CREATE TABLE policy (
    org_id TEXT PRIMARY KEY,
    settings TEXT NOT NULL
) STRICT;

-- The author of a message.
ALTER TABLE message ADD COLUMN created_by TEXT NOT NULL DEFAULT 'system';

-- The audit trail, except for message events, which have their own rows.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    org_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    entity_type TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    details TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_org ON audit (org_id, id);
CREATE INDEX audit_by_type ON audit (org_id, entity_type, id);
CREATE INDEX audit_by_entity ON audit (org_id, entity_type, entity_id, id);

-- Dead letters: messages that are sent only if a user replays them, by error code.
CREATE INDEX delivery_dead ON delivery (org_id, error_code, message_id) WHERE status = 'FAILED';

-- Signs of life: when a role was last seen.
CREATE TABLE sign (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;
