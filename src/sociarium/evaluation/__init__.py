"""Judges players and worlds: Schelling diagrams, cooperation cards."""
