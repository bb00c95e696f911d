"""The sandbox's own API under `/_sandbox`."""
