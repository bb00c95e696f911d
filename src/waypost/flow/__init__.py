"""The steps of a message, in the order in which it meets them."""
