"""The history store and archiving."""
