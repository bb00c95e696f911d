"""Protocols between the steps and the world; a method is one whole atomic intent, its docstring the contract."""
