"""Worlds: the physics, one file for each game."""
