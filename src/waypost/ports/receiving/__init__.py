"""The webhook journal and customers' media."""
