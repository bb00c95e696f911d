"""Checks of message content and recipients."""
