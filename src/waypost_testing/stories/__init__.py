"""Proof by simulation: the real server under every fault at once, one seed at a time, checked from outside."""
