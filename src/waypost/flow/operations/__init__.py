"""Maintenance, invariant checks and what operators read.

- `maintenance`: expires leases, settles unsure sends, counts webhook uptime, prunes
- `check_invariants`: looks for invariant violations in live data
- `audit`: who did what
- `overview`: the state of the server on one page
- `limits_admin`: quotas, gates, windows and disabled numbers
- `why_waiting`: explains why a message is not sent yet
"""
