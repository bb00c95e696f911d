"""The proof by simulation: the real server under every fault at once, one seed at a time, watched from outside."""
