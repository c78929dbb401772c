"""Algorithms by name: a table of what each one is and where it leaves the defaults.

A preset's `settings` are fields of the algorithm's config or of its network's; whatever is set for
a run wins over them.
"""

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args, get_type_hints

from sociarium.core.errors import BadArgument, UnknownName
from sociarium.networks.actor_critic import NetworkConfig


@dataclass(frozen=True)
class Preset:
    """What an algorithm is, where it lives (`module:Config:Trainer`) and what it sets."""

    summary: str
    where: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    preference: str = "selfish"  # unless a run names another


_PPO = "sociarium.learning.ppo:PpoConfig:PpoTrainer"
_RAINBOW = "sociarium.learning.rainbow:RainbowConfig:RainbowTrainer"

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


ELSEWHERE = {  # what settings are called in JaxMARL, CleanRL and Stable-Baselines3
    "num_envs": "lanes",
    "n_envs": "lanes",
    "lr": "learning_rate",
    "n_steps": "num_steps",
    "rollout_length": "num_steps",
    "n_epochs": "epochs",
    "update_epochs": "epochs",
    "ent_coef": "entropy_coef",
    "vf_coef": "value_coef",
    "clip_range": "clip_eps",
    "clip_coef": "clip_eps",
    "discount": "gamma",
    "train_freq": "num_steps",
    "exploration_final_eps": "epsilon_end",
    "tau": "target_update_interval",
}


def find(name: str) -> Preset:
    """The preset of this name."""
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, tuple(ALGORITHMS))
    return ALGORITHMS[name]


def make_config(name: str, settings: Mapping[str, Any]) -> tuple[Any, type]:
    """The algorithm's config with these settings, and its trainer."""
    preset = find(name)
    module, config_name, trainer_name = preset.where.split(":")
    room = importlib.import_module(module)
    kind: Any = getattr(room, config_name)
    hints = {k: v for k, v in get_type_hints(kind).items() if k != "updates"}
    shape = get_type_hints(NetworkConfig) if hints.pop("network", None) else {}
    chosen = {**preset.settings, **settings}
    for setting, value in chosen.items():
        if setting not in {**hints, **shape}:
            raise _unknown(name, setting, (*hints, *shape))
        words = get_args({**hints, **shape}[setting])
        if words and value not in words:
            raise UnknownName(setting, str(value), words)
    given = {k: v for k, v in chosen.items() if k in hints}
    if shape:
        given["network"] = NetworkConfig(**{k: v for k, v in chosen.items() if k in shape})
    return kind(**given), getattr(room, trainer_name)


def parse_settings(name: str, words: Mapping[str, str]) -> dict[str, Any]:
    """Settings written as text, each read as the kind of value its default has."""
    made, _ = make_config(name, {})
    known = {k: v for k, v in _values(made).items() if k != "updates"}
    known |= _values(known.pop("network")) if "network" in known else {}
    return {setting: _read(name, setting, text, known) for setting, text in words.items()}


def _unknown(name: str, setting: str, known: tuple[str, ...]) -> UnknownName:
    """The error of a setting that there is not, with what other libraries' word for it is here."""
    here = ELSEWHERE.get(setting.lower(), "")
    hint = f"It is called {here} here." if here in known else ""
    return UnknownName(f"setting of {name}", setting, known, hint)


def _values(made: Any) -> dict[str, Any]:
    return {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}


def _read(name: str, setting: str, text: str, known: Mapping[str, Any]) -> Any:
    if setting not in known:
        raise _unknown(name, setting, tuple(known))
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
