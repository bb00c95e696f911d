"""Sends email by SMTP."""
