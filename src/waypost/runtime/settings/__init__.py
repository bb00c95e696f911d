"""Settings: their definitions, where they come from, and what is in force."""
