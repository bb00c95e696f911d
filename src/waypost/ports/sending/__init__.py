"""The outbox, its messages, and the providers that send them."""
