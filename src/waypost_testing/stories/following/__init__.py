"""Users on several devices write to each other and to customers over connections that break: the proof of following."""
