"""The customers' phones: what they receive, show, read and write."""
