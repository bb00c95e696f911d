"""Routes of quotas, gates, windows and spend."""
