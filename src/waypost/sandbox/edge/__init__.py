"""ASGI requests and responses, and the Graph API's error bodies."""
