"""The states of an outbound message, its retries and its failover."""
