-- The processes that webhooks can reach: webhook uptime counts only while each of them reports.
CREATE TABLE webhook_listener (
    name text PRIMARY KEY,
    place text NOT NULL,
    ticked_at bigint NOT NULL
);
-- The webhook uptime when a process last reported that it had refused a webhook: see `stale_claims`.
ALTER TABLE door ADD COLUMN refused_total bigint NOT NULL DEFAULT 0;
