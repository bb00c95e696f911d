"""Side-by-side benchmarks: Waypost and its peers on the same machine, database and provider."""
