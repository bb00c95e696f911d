"""Ranges of feed consumers, and archiving."""
