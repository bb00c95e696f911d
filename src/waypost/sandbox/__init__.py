"""A look-alike of Meta's WhatsApp Cloud API, for the demo, tests, simulation and users' own CI."""

from waypost.sandbox.app import Sandbox
from waypost.sandbox.faults import Fault
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.phones import Moved, Said
from waypost.sandbox.settings import Keep, Timing

__all__ = ["Fault", "Keep", "Moved", "Said", "Sandbox", "SandboxNumber", "Timing"]
