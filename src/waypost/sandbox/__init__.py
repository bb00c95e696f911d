"""A simulator of Meta's WhatsApp Cloud API, for the demo, tests, simulation and users' own CI."""

from waypost.sandbox.app import Sandbox
from waypost.sandbox.faults import Fault
from waypost.sandbox.phones.phones import PhoneChange, SayRequest
from waypost.sandbox.settings import SandboxLimits, SandboxTiming
from waypost.sandbox.store.numbers import SandboxNumber

__all__ = ["Fault", "PhoneChange", "Sandbox", "SandboxLimits", "SandboxNumber", "SandboxTiming", "SayRequest"]
