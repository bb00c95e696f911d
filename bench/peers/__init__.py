"""What Waypost is measured against: each peer runs alone (`python -m bench.peers.<name>`) and as a function."""
