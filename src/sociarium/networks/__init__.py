"""Torsos, recurrent cores, heads and the format of stored weights."""
