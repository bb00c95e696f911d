"""The shipped test kit: services, contract suites, a clock that stands still until told."""
