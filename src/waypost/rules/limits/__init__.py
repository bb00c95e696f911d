"""Limits on sending: error codes, gates, pace, windows, quotas and budgets."""
