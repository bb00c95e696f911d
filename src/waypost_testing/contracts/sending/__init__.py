"""The outbox: submitting, claiming, settling, failing over."""
