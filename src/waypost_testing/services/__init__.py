"""Real services as child processes, and stand-ins for third-party services."""
