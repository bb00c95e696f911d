"""Pure decisions: functions of state, input and time that return a value; no await, clock, randomness or logging."""
