"""Contracts and plain data: everything above is written in these words."""
