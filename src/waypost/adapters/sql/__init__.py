"""The Ledger in SQL: transactions written once as plans, which sqlite/ and postgres/ run."""
