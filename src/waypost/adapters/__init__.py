"""One folder per technology; none knows another."""
