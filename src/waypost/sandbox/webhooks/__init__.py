"""Webhooks to the business: signed, posted and retried as Meta does."""
