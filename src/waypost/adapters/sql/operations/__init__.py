"""Invariant checks, queue statistics and operator reads."""
