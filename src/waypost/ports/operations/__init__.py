"""Audit, invariant checks, figures and meters."""
