"""What this machine gives: time, chance, secrets, wake-ups between its processes."""
