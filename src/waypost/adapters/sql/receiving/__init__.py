"""The webhook journal and media."""
