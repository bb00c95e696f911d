"""Waypost: a WhatsApp Business messaging server."""

__version__ = "0.1.0"
