"""A world from elsewhere: the meadow of Sociarium's own tests, under another name."""

from tests.toys.meadow import Meadow


class Nursery(Meadow):
    """Walk onto flowers that never run out."""
