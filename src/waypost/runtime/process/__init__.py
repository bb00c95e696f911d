"""Processes: serve, workers, supervisor, exit."""
