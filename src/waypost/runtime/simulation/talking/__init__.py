"""Customers who write in bursts, a bot with moods, people who take the floor: the proof of receiving and of turns."""
