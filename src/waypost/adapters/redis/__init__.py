"""Redis and Valkey: hints between machines, presence, and published counters."""
