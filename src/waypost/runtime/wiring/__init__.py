"""The composition root: adapters and steps become a server."""
