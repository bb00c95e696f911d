"""Run as a program: prints the digest of each seed's whole trace."""

import sys

from waypost_testing.stories.command import one

for seed in sys.argv[1:]:
    sys.stdout.write(f"{seed} {one(int(seed)).digest}\n")
