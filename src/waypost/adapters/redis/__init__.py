"""Redis and Valkey: wake-ups between machines, who is here, and counters for others to look at."""
