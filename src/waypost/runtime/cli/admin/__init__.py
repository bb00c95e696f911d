"""`waypost admin`: the operator's commands."""
