"""A world from elsewhere: the stall of Sociarium's own tests, for a longer day."""

from tests.toys.stall import Stall


class TeaStall(Stall):
    """Take leaves, brew tea, serve it."""

    def params(self, **changes):
        return super().params(**{"horizon": 60, **changes})
