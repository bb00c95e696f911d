-- Orgs, keys, users, numbers; the outbox; webhook data. Times are microseconds since 1970 (UTC).

CREATE TABLE org (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    org_id TEXT NOT NULL REFERENCES org,
    digest BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE INDEX api_key_by_org ON api_key (org_id);

CREATE TABLE person (
    id TEXT PRIMARY KEY,
    org_id TEXT NOT NULL REFERENCES org,
    digest BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX person_by_org ON person (org_id);

CREATE TABLE number (
    id TEXT PRIMARY KEY,
    org_id TEXT NOT NULL REFERENCES org,
    waba_id TEXT NOT NULL,
    sealed_token BLOB NOT NULL,
    sealed_app_secret BLOB NOT NULL,
    sealed_verify_token BLOB NOT NULL,
    graph_url TEXT,
    error_catalogue TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX number_by_org ON number (org_id);

-- Messages as submitted; never updated.
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    channel TEXT NOT NULL,
    recipient TEXT NOT NULL,
    template TEXT,
    subject TEXT,
    payload TEXT NOT NULL,
    dossier_id INTEGER,
    idempotency_key TEXT NOT NULL,
    digest BLOB NOT NULL,
    priority INTEGER NOT NULL,
    scheduled_at INTEGER,
    expires_at INTEGER,
    ordered INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    queue_id INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (org_id, idempotency_key)
) STRICT;
CREATE INDEX message_by_org ON message (org_id, id);
CREATE INDEX message_by_recipient ON message (org_id, recipient, id);
CREATE INDEX message_by_dossier ON message (org_id, dossier_id, id) WHERE dossier_id IS NOT NULL;

-- Delivery state: one row per message, updated in place. The first columns repeat what decisions need of the message.
CREATE TABLE delivery (
    message_id INTEGER PRIMARY KEY,
    org_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    priority INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    queue_id INTEGER,
    status TEXT NOT NULL,
    generation INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    first_fence INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER,
    owner TEXT,
    open_at_claim INTEGER NOT NULL,
    parked INTEGER NOT NULL,
    provider_id TEXT,
    error_code TEXT,
    error_message TEXT,
    sent_at INTEGER,
    delivered_at INTEGER,
    read_at INTEGER,
    updated_at INTEGER NOT NULL,
    claimed_at INTEGER
) STRICT;
CREATE INDEX delivery_by_status ON delivery (org_id, status, message_id);
CREATE INDEX delivery_unsettled ON delivery (open_at_claim) WHERE status = 'SENDING' AND NOT parked;

-- Messages that can be claimed now: narrow, hot, short-lived rows.
CREATE TABLE ready (
    message_id INTEGER PRIMARY KEY,
    sender TEXT NOT NULL,
    rank INTEGER NOT NULL,
    ready_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ready_by_rank ON ready (rank, message_id);

-- Messages that are due later: scheduled, or between two attempts.
CREATE TABLE later (
    message_id INTEGER PRIMARY KEY,
    sender TEXT NOT NULL,
    rank INTEGER NOT NULL,
    due_at INTEGER NOT NULL
) STRICT;
CREATE INDEX later_by_due ON later (due_at);

-- Order per recipient: only `head` may be in ready, later or SENDING; the rest wait in line.
CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    head INTEGER,
    tail INTEGER NOT NULL,
    UNIQUE (org_id, sender, recipient)
) STRICT;
CREATE TABLE queue_line (
    queue_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    PRIMARY KEY (queue_id, position),
    UNIQUE (message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
    message_id INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    attempt_no INTEGER NOT NULL,
    status TEXT NOT NULL,
    error_code TEXT,
    error_message TEXT,
    response TEXT,
    next_retry_at INTEGER,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (message_id, fence)
) STRICT, WITHOUT ROWID;

-- The provider's id of an attempt. Both the settlement and the status update write it, so the second finds the first.
CREATE TABLE wamid (
    number TEXT NOT NULL,
    wamid TEXT NOT NULL,
    message_id INTEGER,
    fence INTEGER,
    PRIMARY KEY (number, wamid)
) STRICT, WITHOUT ROWID;

-- Every status update as received; the key deduplicates them.
CREATE TABLE report (
    number TEXT NOT NULL,
    wamid TEXT NOT NULL,
    kind TEXT NOT NULL,
    participant TEXT NOT NULL,
    org_id TEXT NOT NULL,
    message_id INTEGER,
    fence INTEGER,
    recipient TEXT NOT NULL,
    at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    error_code TEXT,
    error_message TEXT,
    body TEXT NOT NULL,
    open_total INTEGER, -- the door's count when it came, if it came without a message
    PRIMARY KEY (number, wamid, kind, participant)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_by_message ON report (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX report_unmatched ON report (number, recipient, open_total) WHERE message_id IS NULL;
CREATE INDEX report_unmatched_by_age ON report (received_at) WHERE message_id IS NULL;

CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_message ON event (message_id, id);

-- Webhook items as received, until a later step processes them.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id TEXT NOT NULL,
    number TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    error TEXT,
    received_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (number, kind, key)
) STRICT;
CREATE INDEX journal_by_org ON journal (org_id, id);
CREATE INDEX journal_by_state ON journal (org_id, state, id);

CREATE TABLE door (
    id INTEGER PRIMARY KEY,
    open_total INTEGER NOT NULL,
    ticked_at INTEGER NOT NULL
) STRICT;
INSERT INTO door (id, open_total, ticked_at) VALUES (1, 0, 0);
