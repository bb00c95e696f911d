"""Pure decisions: state, input and now in, a value out. No await, clock, randomness or logging."""
