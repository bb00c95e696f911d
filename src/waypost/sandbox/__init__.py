"""A simulator of Meta's WhatsApp Cloud API, for the demo, tests, simulation and users' own CI."""

from waypost.sandbox.app import Sandbox
from waypost.sandbox.faults import Fault
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.phones import PhoneChange, SayRequest
from waypost.sandbox.settings import SandboxLimits, SandboxTiming

__all__ = ["Fault", "PhoneChange", "Sandbox", "SandboxLimits", "SandboxNumber", "SandboxTiming", "SayRequest"]
