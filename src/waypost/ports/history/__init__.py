"""The history store and the consumers of feeds."""
