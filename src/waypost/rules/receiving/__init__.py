"""Webhooks: inbound messages, account updates, media, consent words."""
