"""Gates, money and published counters."""
