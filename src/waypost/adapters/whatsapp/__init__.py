"""Meta's WhatsApp Cloud API."""
