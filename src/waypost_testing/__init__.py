"""The shipped test kit: real services, contract suites, simulation, and a clock that tests move by hand."""
