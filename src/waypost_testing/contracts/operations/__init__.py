"""Invariant checks, figures and operators' reads."""
