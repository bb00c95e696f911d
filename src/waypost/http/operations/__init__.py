"""Routes of health, metrics and the overview."""
