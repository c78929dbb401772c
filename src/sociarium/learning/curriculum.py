"""A schedule of numbers over training: easier or other rules first, the whole game last.

It is written as stages, each with the share of training at which it ends and the numbers that
differ from the rule sheets meanwhile, as in `0.4:forced=1,deliberation=0 0.7:forced=1..0 1:`. Two
numbers with dots between them move in a straight line within the stage. Any number of a world or of
its charter can be scheduled; all of them are leaves, so nothing is compiled anew.
"""

import re
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.params import parameter, replace_parameters

CURRICULA = {
    "": "1:",
    "contract": "0.35:forced=1,deliberation=0 0.7:forced=1..0,deliberation=0 1:",
    "contract-direct": "0.35:forced=1,deliberation=0 1:",
    "grand-coalition": "1:forced=1,deliberation=0",
}
_NUMBER = r"-?\d+(\.\d+)?"


@dataclass(frozen=True)
class Stage:
    """Until this share of training, numbers that go from one value to another."""

    until: float
    changes: dict[str, tuple[float, float]]


class Curriculum:
    """Stages in order, the last until the end of training."""

    def __init__(self, env: Environment[Any, Any], text: str = "") -> None:
        self.env = env
        self.stages = tuple(_stage(word) for word in CURRICULA.get(text, text).split())
        ends = [stage.until for stage in self.stages]
        if not ends or ends != sorted(set(ends)) or ends[-1] != 1 or ends[0] <= 0:
            raise BadArgument(
                "the stages of a curriculum end at rising shares of training, the last at 1; "
                f"given {text!r}"
            )
        self.names = tuple(dict.fromkeys(name for stage in self.stages for name in stage.changes))
        for name in self.names:
            parameter(env.params(), name)  # complains of names that the rules do not have

    def at(self, params: Any, progress: Float[Array, ""]) -> Any:
        """The numbers when this share of training is done."""
        usual = {name: parameter(params, name) for name in self.names}
        chosen: dict[str, Any] = dict(usual)
        begin = 0.0
        for stage in self.stages:
            inside = (progress >= begin) & (progress < stage.until)
            done = jnp.clip((progress - begin) / (stage.until - begin), 0, 1)
            for name in self.names:
                if name in stage.changes:
                    first, last = stage.changes[name]
                    value = first + (last - first) * done
                    chosen[name] = jnp.where(inside, value.astype(usual[name].dtype), chosen[name])
            begin = stage.until
        return replace_parameters(params, **chosen)

    def last(self, params: Any) -> Any:
        """The numbers at the end of training."""
        changes = {name: value for name, (_, value) in self.stages[-1].changes.items()}
        return replace_parameters(params, **changes)


def _stage(word: str) -> Stage:
    until, colon, numbers = word.partition(":")
    changes = {}
    for pair in filter(None, numbers.split(",")):
        match = re.fullmatch(rf"(\w+)=(?P<first>{_NUMBER})(\.\.(?P<last>{_NUMBER}))?", pair)
        if match is None:
            raise BadArgument(
                f"a stage is written SHARE:NAME=NUMBER,NAME=FROM..TO, as in 0.4:forced=1..0; "
                f"given {word!r}"
            )
        first = float(match["first"])
        changes[match[1]] = (first, float(match["last"]) if match["last"] else first)
    if not colon or not re.fullmatch(_NUMBER, until):
        raise BadArgument(f"a stage begins with the share at which it ends; given {word!r}")
    return Stage(float(until), changes)
