-- The processes that webhooks can reach: webhook uptime counts only while each of them reports.
CREATE TABLE webhook_listener (
    name TEXT PRIMARY KEY,
    place TEXT NOT NULL,
    ticked_at INTEGER NOT NULL
) STRICT;
-- The webhook uptime when a process last reported that it had refused a webhook: see `stale_claims`.
ALTER TABLE door ADD COLUMN refused_total INTEGER NOT NULL DEFAULT 0;
