"""The Ledger on PostgreSQL."""
