"""Webhooks and media."""
