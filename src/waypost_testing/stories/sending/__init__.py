"""The story of sending: callers post, the provider fails, every message is sent once."""
