"""Protocols between steps and adapters; each method is one atomic operation, and its docstring is the contract."""
