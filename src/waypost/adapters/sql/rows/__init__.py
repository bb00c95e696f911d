"""Conversion between rows and model types."""
