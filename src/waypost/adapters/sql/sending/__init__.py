"""The outbox, its messages and templates."""
