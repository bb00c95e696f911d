"""People on several devices who write to each other and to customers over lines that break: the proof of following."""
