"""`waypost doctor`: checks of the configuration and of every service."""
