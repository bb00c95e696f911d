"""The history kept in the database, and archiving."""
