"""Bots without a model: an echo, the operator's own Python function, the operator's own HTTP service."""
