"""Gates, permits, money and windows."""
