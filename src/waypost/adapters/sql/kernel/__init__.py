"""Intents decide inside one transaction, in one lock order."""
