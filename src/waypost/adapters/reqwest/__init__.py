"""Outgoing HTTP through pyreqwest."""
