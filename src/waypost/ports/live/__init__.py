"""Live connections, push notifications and presence."""
