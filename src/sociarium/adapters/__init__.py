"""Doors to the tools people already use: PettingZoo, Gymnasium, JaxMARL."""
