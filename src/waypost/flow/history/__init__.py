"""Feeds are consumed and message bodies archived.

- `feed_consumer`: reads every feed in order, for the search index and the archive
- `archive`: appends bodies to the history store
- `verify`: asks the history store for what it confirmed, appends again what is missing, and prunes bodies
"""
