-- A consent takes effect at `at`; messages sent before it was recorded (`heard_at`) are no violation.
ALTER TABLE consent ADD COLUMN heard_at INTEGER;
