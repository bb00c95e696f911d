"""Customers write in bursts, a faulty bot answers, agents take the floor: the proof of receiving and of turns."""
