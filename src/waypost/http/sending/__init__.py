"""Routes of the outbox."""
