"""Metrics and logs around the ports."""
