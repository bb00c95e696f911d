-- Journal items with their state, and the provider's latest update on each topic.

-- The provider's time of the update; updates may arrive out of order.
ALTER TABLE journal ADD COLUMN told_at bigint;
UPDATE journal SET state = 'kept' WHERE state = 'pending' AND kind <> 'message';
CREATE INDEX journal_by_age ON journal (received_at) WHERE state <> 'pending';

-- One row per org and topic (`account:2/ban`, `number:1/pace`); with a code it is a hold, for a time or for good.
CREATE TABLE provider_word (
    org_id text NOT NULL,
    topic text NOT NULL,
    at bigint NOT NULL,
    code text,
    reason text,
    until bigint,
    PRIMARY KEY (org_id, topic)
);
