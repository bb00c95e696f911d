"""The Ledger on SQLite, inside the process."""
