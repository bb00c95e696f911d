"""A deterministic world for the real server: simulated time, processes that crash, a network that fails, one seed."""

from waypost_testing.simulation.chance import RandomStreams, SeededIds, SeededRandomSource
from waypost_testing.simulation.host import SimulatedHost
from waypost_testing.simulation.loop import Deadlock, Livelock, RealWorldForbidden, SimulationError, SimulationLoop
from waypost_testing.simulation.network import Network, SimulatedTransport
from waypost_testing.simulation.node import START, Node, NodeClock, NodeCrashed
from waypost_testing.simulation.trace import Trace
from waypost_testing.simulation.weather import CALM, NetworkConditions, Outage
from waypost_testing.simulation.world import Complaint, Simulation, run_simulation

__all__ = [
    "CALM",
    "START",
    "Complaint",
    "Deadlock",
    "Livelock",
    "Network",
    "NetworkConditions",
    "Node",
    "NodeClock",
    "NodeCrashed",
    "Outage",
    "RandomStreams",
    "RealWorldForbidden",
    "SeededIds",
    "SeededRandomSource",
    "SimulatedHost",
    "SimulatedTransport",
    "Simulation",
    "SimulationError",
    "SimulationLoop",
    "Trace",
    "run_simulation",
]
