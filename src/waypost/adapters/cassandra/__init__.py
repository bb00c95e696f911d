"""History on Cassandra, and on ScyllaDB with the same CQL."""
