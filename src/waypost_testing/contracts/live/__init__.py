"""Devices, notifications and presence."""
