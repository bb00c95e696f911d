"""The machine: clock, hints, HTTP transport, failures, secrets."""
