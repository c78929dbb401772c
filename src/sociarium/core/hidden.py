"""Hidden numbers of a world: drawn from a seed and a split, told to nobody or to everybody.

    params, drawn = draw_hidden(env, env.params(), seed=3, split="held_out")
    env = Revealed(env)                   # views of all players show the numbers of `params`

A society stays one where its world is revealed: see `charters.revealing`.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int16, Key

from sociarium.core import random
from sociarium.core.environment import Environment, View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.facets import SPLITS, Hidden, Split, find_facet
from sociarium.core.params import parameter, replace_parameters
from sociarium.core.scene import PanelEntry, Scene
from sociarium.core.specs import OwnSpec
from sociarium.core.wrapper import Wrapper

HIDDEN_DRAWS = 0x41DDE  # folds a key into the stream that hidden numbers are drawn from
SMALLEST, LARGEST = np.iinfo(np.int16).min, np.iinfo(np.int16).max


def draw_hidden(
    env: Environment[Any, Any], params: Any, seed: int, split: str = "train"
) -> tuple[Any, dict[str, Any]]:
    """The parameters with their hidden numbers drawn, and these by name as plain values.

    What is drawn is a pure function of the seed and the split, `train` or `held_out`.
    """
    drawn = sample_hidden(env, random.key(seed), read_split(split))
    params = replace_parameters(params, **drawn)
    return params, {name: np.asarray(parameter(params, name)).tolist() for name in drawn}


def read_split(name: str) -> Split:
    """The split of this name."""
    for split in SPLITS:
        if split == name:
            return split
    raise UnknownName("split", name, SPLITS)


def sample_hidden(
    env: Environment[Any, Any], key: Key[Array, ""], split: Split = "train"
) -> dict[str, Any]:
    """The hidden numbers of an environment by name, also inside compiled code."""
    hidden = env.facet(Hidden)
    k_split = jax.random.fold_in(jax.random.fold_in(key, HIDDEN_DRAWS), SPLITS.index(split))
    return dict(hidden.draw(k_split, split))


def revealed_names(env: Environment[Any, Any]) -> tuple[str, ...]:
    """The hidden numbers that everybody is told in this environment, in its trials too."""
    hidden = find_facet(env, Hidden)
    if hidden is not None:
        return hidden.names if hidden.revealed else ()
    return getattr(env, "revealed", ())


class Revealed(Wrapper):
    """An environment whose hidden numbers are told to everybody, among the shared numbers.

    A number that is not whole is counted in the unit that the facet gives. An array has a number
    for each of its entries. Who is out of play sees 0. The id is that of the inner environment: a
    record that names it must tell `revealed` too.
    """

    def __init__(self, env: Environment[Any, Any]) -> None:
        super().__init__(env)
        hidden, params = env.facet(Hidden), env.params()
        if hidden.revealed:
            raise BadArgument(f"{env} is revealed already")
        missing = [name for name in hidden.names if name not in hidden.ranges]
        if missing:
            raise BadArgument(
                f"{env} does not tell the range of {', '.join(missing)}, so that a view cannot "
                "show it; its facet Hidden gives it in `ranges`"
            )
        self.revealed = hidden.names
        self._units = {name: hidden.units.get(name, 1) for name in hidden.names}
        specs = [
            spec for name in hidden.names for spec in _specs(hidden, name, parameter(params, name))
        ]
        self.view_spec = replace(env.view_spec, shared=(*env.view_spec.shared, *specs))
        self.facets = tuple(
            replace(facet, revealed=True) if isinstance(facet, Hidden) else facet
            for facet in env.facets
        )

    def _numbers(self, params: Any) -> Int16[Array, " hidden"]:
        """The hidden numbers as a view shows them."""
        shown = [
            jnp.ravel(jnp.round(jnp.asarray(parameter(params, name)) / unit))
            for name, unit in self._units.items()
        ]
        return jnp.clip(jnp.concatenate(shown), SMALLEST, LARGEST).astype(jnp.int16)

    def observe(self, state: Any, params: Any) -> View:
        """The inner view, with the hidden numbers after the shared ones."""
        view, present = self.inner.observe(state, params), self.inner.present(state)
        told = jnp.where(present[:, None], self._numbers(params)[None], jnp.int16(0))
        shared = jnp.concatenate([view.shared, told], 1)
        return View(view.cells, view.own, shared, view.social)

    def scene(self, state: Any, params: Any, player: int | None = None) -> Scene:
        """The inner scene, with the hidden numbers on the panel that everybody sees."""
        scene = self.inner.scene(state, params, player)
        specs = self.view_spec.shared[len(self.inner.view_spec.shared) :]
        lines = [
            PanelEntry(f"{spec.name} {number}")
            for spec, number in zip(specs, self._numbers(params).tolist(), strict=True)
        ]
        return replace(scene, shared=(*scene.shared, *lines))


def _specs(hidden: Hidden, name: str, value: Any) -> list[OwnSpec]:
    """What a view tells of a hidden number, one for each of its entries; 0 is in the range."""
    unit, (lowest, highest) = hidden.units.get(name, 1), hidden.ranges[name]
    low, high = min(0, round(lowest / unit)), max(0, round(highest / unit))
    if not SMALLEST <= low <= high <= LARGEST:
        raise BadArgument(
            f"{name} reaches from {lowest} to {highest}, which is too far for a view; its facet "
            f"Hidden may count it in a larger unit than {unit:g}"
        )
    named = name if unit == 1 else f"{name} (in {unit:g})"
    shape = np.shape(value)
    if not shape:
        return [OwnSpec(named, low, high)]
    entries = [" ".join(map(str, entry)) for entry in np.ndindex(*shape)]
    return [OwnSpec(f"{named} {entry}", low, high) for entry in entries]
