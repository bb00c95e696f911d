"""Hints and HTTP transports."""
