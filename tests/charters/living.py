"""Societies in which a few named things are done, step by step."""

import jax
import jax.numpy as jnp
import numpy as np

import sociarium
from sociarium.charters.society import Society
from sociarium.core.actions import find_action
from tests.toys.yard import Yard

NAMED = {"-": "stay", "t": "take", "c": "clean", "h": "hit"}


class Life:
    """A society of the yard, or of another world, and what has happened in it so far."""

    def __init__(self, *articles, players=3, world=None, **numbers):
        self.env = Society(world or Yard(players), *articles)
        self.params = self.env.params(**numbers)
        self.state = self.env.reset(sociarium.key(0), self.params)
        self._step = jax.jit(self.env.step)
        self.rewards, self.events, self.clock = [], [], 0

    def does(self, *steps):
        """Everybody's actions in each step: a letter for each seat, or names of actions."""
        for step in steps:
            names = [NAMED[letter] for letter in step] if isinstance(step, str) else step
            actions = [find_action(self.env.actions, name) for name in names]
            key = jax.random.fold_in(sociarium.key(1), self.clock)
            self.state, transition = self._step(
                key, self.state, jnp.array(actions, jnp.int32), self.params
            )
            self.rewards.append(np.asarray(transition.reward).round(4).tolist())
            self.events.append(transition.events)
            self.clock += 1
        return self

    @property
    def last(self):
        return self.rewards[-1]

    def happened(self, name):
        """To whom an event happened in each step."""
        return [np.flatnonzero(step[name].mask).tolist() for step in self.events]

    def told(self, name):
        """A code about each player or contact, by its name."""
        spec = self.env.view_spec.social
        social = self.env.observe(self.state, self.params).social
        own, ties = [p.name for p in spec.own], [p.name for p in spec.ties]
        if name in own:
            codes, column = spec.own[own.index(name)].codes, social.own[:, own.index(name)]
            return [codes[code] for code in column.tolist()]
        codes = spec.ties[ties.index(name)].codes
        rows = social.ties[..., ties.index(name)].tolist()
        return [[codes[code] for code in row] for row in rows]

    @property
    def numbers(self):
        """The numbers of the charter that the first player sees, by name."""
        specs = self.env.view_spec.social.numbers
        values = self.env.observe(self.state, self.params).social.numbers[0].tolist()
        return {s.name: round(v * s.unit, 4) for s, v in zip(specs, values, strict=True)}

    @property
    def law(self):
        return self.env.law(self.state, self.params)
