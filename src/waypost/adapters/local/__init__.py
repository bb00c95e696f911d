"""Adapters of the local machine: clock, random source, vault, files, hints between its processes."""
