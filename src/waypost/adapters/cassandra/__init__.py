"""The Log on Cassandra, and on ScyllaDB by the same CQL."""
