"""Gates and money."""
