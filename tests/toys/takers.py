"""Citizens of Taking, and its place in a catalogue: `monkeypatch.setattr(*LISTED)`."""

import jax.numpy as jnp

from sociarium import catalogue


class Always:
    """Does one thing."""

    def __init__(self, action):
        self.action = action

    def begin(self, key):
        return ()

    def act(self, key, view, legal, memory):
        return jnp.int32(self.action), ()


SCRIPTS = {"cooperator": lambda env: Always(0), "defector": lambda env: Always(1)}
ENTRY = catalogue.Entry(
    id="taking-v0",
    where="tests.toys.taking:Taking",
    players=3,
    paper="",
    summary="what one gains by taking, the others lose twice over",
    cast="script:cooperator",
    scripts="tests.toys.takers",
)
LISTED = (catalogue, "WORLDS", (*catalogue.WORLDS, ENTRY))
