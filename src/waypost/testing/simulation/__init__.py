"""A deterministic world for the real server: simulated time, processes that crash, a network that fails, one seed."""

from waypost.testing.simulation.chance import Chance, SeededDice, SeededIds
from waypost.testing.simulation.host import Host
from waypost.testing.simulation.loop import Deadlock, Livelock, RealWorldForbidden, SimulationError, SimulationLoop
from waypost.testing.simulation.network import Network, SimulatedWire
from waypost.testing.simulation.node import START, Node, NodeClock, NodeCrashed
from waypost.testing.simulation.trace import Trace
from waypost.testing.simulation.weather import CALM, Outage, Weather
from waypost.testing.simulation.world import Complaint, Simulation, run_simulation

__all__ = [
    "CALM",
    "START",
    "Chance",
    "Complaint",
    "Deadlock",
    "Host",
    "Livelock",
    "Network",
    "Node",
    "NodeClock",
    "NodeCrashed",
    "Outage",
    "RealWorldForbidden",
    "SeededDice",
    "SeededIds",
    "SimulatedWire",
    "Simulation",
    "SimulationError",
    "SimulationLoop",
    "Trace",
    "Weather",
    "run_simulation",
]
