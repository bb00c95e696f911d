"""Feeds are consumed and message bodies archived.

- `feed_consumer`: reads every feed in order, for the search index and the archive
- `archive`: appends bodies to the history store and prunes them from the Ledger
"""
