"""Seat players, run them, record what they did."""
