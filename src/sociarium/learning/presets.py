"""Algorithms by name: a table of what each one is and where it leaves the defaults.

A preset's `settings` are fields of the algorithm's numbers or of its network's design; whatever is
set for a run wins over them.
"""

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args, get_type_hints

from sociarium.core.errors import BadArgument, UnknownName
from sociarium.networks.actor_critic import Design


@dataclass(frozen=True)
class Preset:
    """What an algorithm is, where it lives (`module:Numbers:Trainer`) and what it sets."""

    summary: str
    where: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    preference: str = "selfish"  # unless a run names another


_PPO = "sociarium.learning.ppo:Ppo:PpoTrainer"
_RAINBOW = "sociarium.learning.rainbow:Rainbow:RainbowTrainer"

ALGORITHMS = {
    "ippo": Preset("independent PPO: each seat judges by what it sees itself", _PPO),
    "mappo": Preset(
        "PPO with a critic that sees all windows, as in SocialJax",
        _PPO,
        {"critic_sees": "views"},
        "common",
    ),
    "mappo-state": Preset(
        "PPO with a critic that sees the whole state", _PPO, {"critic_sees": "state"}, "common"
    ),
    "mappo-actions": Preset(
        "PPO with a critic that sees the state and what the others do, as AdaSociety's meant to",
        _PPO,
        {"critic_sees": "state+others_actions"},
        "common",
    ),
    "recppo": Preset("PPO with an LSTM between seeing and acting", _PPO, {"core": "lstm"}),
    "rainbow": Preset("Rainbow: replayed, distributional Q-learning", _RAINBOW),
    "vdn": Preset(
        "value decomposition: the sum of the seats' Q values learns the common good",
        _RAINBOW,
        {"mixing": "sum", "distributional": False},
        "common",
    ),
}


def find(name: str) -> Preset:
    """The preset of this name."""
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, tuple(ALGORITHMS))
    return ALGORITHMS[name]


def numbers(name: str, settings: Mapping[str, Any]) -> tuple[Any, type]:
    """The algorithm's numbers with these settings, and its trainer."""
    preset = find(name)
    module, numbers_name, trainer_name = preset.where.split(":")
    room = importlib.import_module(module)
    kind: Any = getattr(room, numbers_name)
    hints = {k: v for k, v in get_type_hints(kind).items() if k != "updates"}
    shape = get_type_hints(Design) if hints.pop("design", None) else {}
    chosen = {**preset.settings, **settings}
    for setting, value in chosen.items():
        if setting not in {**hints, **shape}:
            raise UnknownName(f"setting of {name}", setting, (*hints, *shape))
        words = get_args({**hints, **shape}[setting])
        if words and value not in words:
            raise UnknownName(setting, str(value), words)
    given = {k: v for k, v in chosen.items() if k in hints}
    if shape:
        given["design"] = Design(**{k: v for k, v in chosen.items() if k in shape})
    return kind(**given), getattr(room, trainer_name)


def parse_settings(name: str, words: Mapping[str, str]) -> dict[str, Any]:
    """Settings written as text, each read as the kind of value its default has."""
    made, _ = numbers(name, {})
    known = {k: v for k, v in _values(made).items() if k != "updates"}
    known |= _values(known.pop("design")) if "design" in known else {}
    return {setting: _read(name, setting, text, known) for setting, text in words.items()}


def _values(made: Any) -> dict[str, Any]:
    return {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}


def _read(name: str, setting: str, text: str, known: Mapping[str, Any]) -> Any:
    if setting not in known:
        raise UnknownName(f"setting of {name}", setting, tuple(known))
    default = known[setting]
    if isinstance(default, str):
        return text
    try:
        if isinstance(default, bool):
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return int(text.replace("_", "")) if isinstance(default, int) else float(text)
    except (ValueError, KeyError):
        kind = {bool: "true or false", int: "a whole number"}.get(type(default), "a number")
        raise BadArgument(f"{setting} must be {kind}; given {text!r}") from None
