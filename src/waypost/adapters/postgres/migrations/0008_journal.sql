-- The journal as something to work with, and the provider's latest word on what it tells again and again.

-- When the provider said it; the order in which words arrive is not the order in which they were said.
ALTER TABLE journal ADD COLUMN told_at bigint;
UPDATE journal SET state = 'kept' WHERE state = 'pending' AND kind <> 'message';
CREATE INDEX journal_by_age ON journal (received_at) WHERE state <> 'pending';

-- One row per org and topic (`account:2/ban`, `number:1/pace`); with a code it holds the account, until then or for good.
CREATE TABLE provider_word (
    org_id text NOT NULL,
    topic text NOT NULL,
    at bigint NOT NULL,
    code text,
    reason text,
    until bigint,
    PRIMARY KEY (org_id, topic)
);
