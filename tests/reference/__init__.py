"""Slow worlds in plain Python, written from the rule sheets, to check the fast ones against.

They share no code with the package. Places are (row, column) tuples, nowhere is None, and chance
comes from outside as the very words the fast world draws in the same step.
"""
