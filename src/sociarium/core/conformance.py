"""The public conformance suite: what every environment must keep, ours and other people's.

sociarium.check(MyWorld())            # raises ContractBroken, naming the clause
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sociarium.core import random
from sociarium.core.environment import STAY, Environment
from sociarium.core.errors import ContractBroken

CLAUSES = {
    "names": "Action 0 is `stay`; actions, planes, ties, events and gauges have distinct names.",
    "fixed shapes": "A step keeps the structure, shapes and types of the state.",
    "declared events": "A transition holds exactly the declared events, with seats in range.",
    "known cooperation": "Cooperation, where it is defined, is made of declared events.",
    "declared gauges": "Gauges are exactly the declared ones, and finite.",
    "view in spec": "Views have the declared shape and every code and number is in its range.",
    "stay is legal": "Everybody may always stay, so no row of `legal` is empty.",
    "illegal is stay": "An illegal action does what `stay` does.",
    "out of range is stay": "An action below 0 or beyond the last does what `stay` does.",
    "jit equals eager": "Compiled and uncompiled steps agree bit for bit.",
    "vmap equals loop": "Each lane of a batch agrees bit for bit with the same lane alone.",
    "same key, same episode": "One key gives one start, another key another.",
    "any key": "Threefry keys work as well as the fast generator's.",
    "time-outs truncate": "No step is both terminated and truncated.",
    "rewards add up": "Rewards are finite at all three stages, and pooling keeps their sum.",
    "params are leaves": "Every parameter can be batched with vmap.",
    "one window": "A player's scene shows exactly the codes of its view.",
    "state to disk": "A state written to disk and read back continues the same episode.",
}


@dataclass
class Play:
    """A short random episode with everything kept, arrays with a leading time axis."""

    env: Environment[Any, Any]
    params: Any
    reset: Callable[..., Any]  # compiled
    first: Any
    keys: Any
    actions: Any
    states: Any  # before each step
    after: Any
    transitions: Any
    views: Any
    legal: Any

    @cached_property
    def all_at_once(self) -> Callable[..., Any]:
        """Every step of the episode as a lane of one batch."""
        return jax.jit(jax.vmap(self.env.step, (0, 0, 0, None)))


def check(env: Environment[Any, Any], *, steps: int = 40, seed: int = 0) -> tuple[str, ...]:
    """Plays at random and examines every clause; returns their names or raises ContractBroken."""
    broken = [(name, detail) for name, detail in examine(env, steps=steps, seed=seed) if detail]
    if broken:
        raise ContractBroken(
            "\n".join(f"{name}: {CLAUSES[name]} Found: {detail}" for name, detail in broken)
        )
    return tuple(CLAUSES)


def examine(
    env: Environment[Any, Any],
    *,
    steps: int = 40,
    seed: int = 0,
    tell: Callable[[str], None] = lambda clause: None,
) -> list[tuple[str, str]]:
    """Each clause with what was found against it ("" where it holds)."""
    tell("playing")
    play = _play(env, env.params(), random.key(seed), steps)
    tests = {
        "names": _names,
        "fixed shapes": _fixed_shapes,
        "declared events": _declared_events,
        "known cooperation": _known_cooperation,
        "declared gauges": _declared_gauges,
        "view in spec": _view_in_spec,
        "stay is legal": _stay_is_legal,
        "illegal is stay": _illegal_is_stay,
        "out of range is stay": _out_of_range_is_stay,
        "jit equals eager": _jit_equals_eager,
        "vmap equals loop": _vmap_equals_loop,
        "same key, same episode": _same_key_same_episode,
        "any key": _any_key,
        "time-outs truncate": _time_outs_truncate,
        "rewards add up": _rewards_add_up,
        "params are leaves": _params_are_leaves,
        "one window": _one_window,
        "state to disk": _state_to_disk,
    }
    findings = []
    for clause, test in tests.items():
        tell(clause)
        findings.append((clause, test(play)))
    return findings


def _play(env: Environment[Any, Any], params: Any, key: Any, steps: int) -> Play:
    k_start, k_steps, k_actions = jax.random.split(key, 3)
    words = random.bits(k_actions, steps, env.players)
    actions = random.below(words, jnp.full(words.shape, len(env.actions)))
    keys = jax.random.split(k_steps, steps)
    reset = jax.jit(env.reset)
    first = reset(k_start, params)

    @jax.jit
    def run(first: Any, params: Any) -> Any:
        def one(state: Any, given: Any) -> Any:
            key, action = given
            legal = env.legal(state, params)
            after, transition = env.step(key, state, action, params)
            return after, (state, after, transition, env.observe(after, params), legal)

        return jax.lax.scan(one, first, (keys, actions))[1]

    kept = run(first, params)
    return Play(env, params, reset, first, keys, actions, *kept)


def same(a: Any, b: Any) -> bool:
    """Whether two trees have the same structure and the same bits."""
    a_leaves, a_tree = jax.tree.flatten(a)
    b_leaves, b_tree = jax.tree.flatten(b)
    return a_tree == b_tree and all(
        x.dtype == y.dtype and np.array_equal(_plain(x), _plain(y))
        for x, y in zip(a_leaves, b_leaves, strict=True)
    )


def _plain(leaf: Any) -> np.ndarray:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(leaf))
    return np.asarray(leaf)


def _names(play: Play) -> str:
    env, social = play.env, play.env.view_spec.social
    if env.actions[STAY] != "stay":
        return f"action 0 is {env.actions[0]!r}"
    for what, names in (
        ("actions", env.actions),
        ("planes", [plane.name for plane in env.view_spec.planes]),
        ("ties", [plane.name for plane in social.ties] if social else []),
        ("events", [spec.name for spec in env.event_specs]),
        ("gauges", [spec.name for spec in env.gauge_specs]),
    ):
        if len(set(names)) != len(names):
            return f"{what} repeat a name: {names}"
    return ""


def _fixed_shapes(play: Play) -> str:
    def shape(tree: Any) -> Any:
        leaves, structure = jax.tree.flatten(tree)
        return structure, [(leaf.shape, leaf.dtype) for leaf in leaves]

    before, after = shape(play.first), shape(jax.tree.map(lambda x: x[0], play.after))
    return "" if before == after else f"reset gives {before}, step gives {after}"


def _declared_events(play: Play) -> str:
    declared = {spec.name for spec in play.env.event_specs}
    if set(play.transitions.events) != declared:
        return f"declared {sorted(declared)}, found {sorted(play.transitions.events)}"
    for spec in play.env.event_specs:
        kind = play.transitions.events[spec.name]
        mask, other = np.asarray(kind.mask), np.asarray(kind.other)
        if spec.axis != "place" and mask.shape[1:] != (play.env.players,):
            return f"{spec.name} runs over {mask.shape[1:]}, not over {play.env.players} players"
        if ((other[mask] < -1) | (other[mask] >= play.env.players)).any():
            return f"{spec.name} names seats outside 0..{play.env.players - 1}"
    return ""


def _known_cooperation(play: Play) -> str:
    spec, declared = play.env.cooperation, {spec.name for spec in play.env.event_specs}
    unknown = {*spec.acts, *spec.refusals} - declared if spec else set()
    return f"no event is called {', '.join(sorted(unknown))}" if unknown else ""


def _declared_gauges(play: Play) -> str:
    gauges = jax.jit(play.env.gauges)(play.first, play.params)
    declared = {spec.name for spec in play.env.gauge_specs}
    if set(gauges) != declared:
        return f"declared {sorted(declared)}, found {sorted(gauges)}"
    return "" if all(np.isfinite(float(level)) for level in gauges.values()) else f"{gauges}"


def _view_in_spec(play: Play) -> str:
    env, spec = play.env, play.env.view_spec
    cells, own = np.asarray(play.views.cells), np.asarray(play.views.own)
    expected = (env.players, len(spec.planes), spec.rows, spec.cols)
    if cells.shape[1:] != expected or cells.dtype != np.uint8:
        return f"cells are {cells.dtype}{cells.shape[1:]}, declared uint8{expected}"
    if own.shape[1:] != (env.players, len(spec.own)) or own.dtype != np.int16:
        return f"own numbers are {own.dtype}{own.shape[1:]}"
    for index, plane in enumerate(spec.planes):
        if cells[:, :, index].max() >= len(plane.codes):
            return f"plane {plane.name} shows code {cells[:, :, index].max()} of {plane.codes}"
    for index, number in enumerate(spec.own):
        low, high = own[..., index].min(), own[..., index].max()
        if low < number.low or high > number.high:
            return f"{number.name} ranges over {low}..{high}, declared {number.low}..{number.high}"
    return _social_in_spec(play)


def _social_in_spec(play: Play) -> str:
    env, spec, seen = play.env, play.env.view_spec.social, play.views.social
    if spec is None or seen is None:
        return "" if spec is seen is None else f"declared {spec}, shown {seen}"
    window = (len(env.view_spec.planes), env.view_spec.rows, env.view_spec.cols)
    declared = {
        "own": (len(spec.own),),
        "ties": (spec.contacts, len(spec.ties)),
        "lookout": (spec.lookouts,),
        "offsets": (spec.lookouts, 3),
        "windows": (spec.lookouts, *window),
    }
    for name, shape in declared.items():
        found = getattr(seen, name).shape[2:]
        if found != shape:
            return f"social {name} have the shape {found}, declared {shape}"
    for name, planes in (("own", spec.own), ("ties", spec.ties)):
        for index, plane in enumerate(planes):
            highest = int(np.asarray(getattr(seen, name))[..., index].max())
            if highest >= len(plane.codes):
                return f"{plane.name} shows code {highest} of {plane.codes}"
    seats, offsets = (np.asarray(x).astype(np.int64) for x in (seen.lookout, seen.offsets))
    if seats.size and not 0 <= seats.min() <= seats.max() <= spec.seats:
        return f"lookouts are {seats.min()}..{seats.max()}, declared 0..{spec.seats}"
    far, turned = abs(offsets[..., :2]), offsets[..., 2]
    if offsets.size and (far.max() > spec.far or turned.min() < 0 or turned.max() > 3):
        return f"offsets reach {far.max()} cells and turn {turned.max()}, declared {spec.far} and 3"
    return ""


def _stay_is_legal(play: Play) -> str:
    legal = np.asarray(play.legal)
    expected = (play.env.players, len(play.env.actions))
    if legal.shape[1:] != expected:
        return f"legal is {legal.shape[1:]}, expected {expected}"
    return "" if legal[..., STAY].all() else "somebody may not stay"


def _illegal_is_stay(play: Play) -> str:
    allowed = np.take_along_axis(np.asarray(play.legal), np.asarray(play.actions)[..., None], 2)
    cleaned = jnp.where(jnp.asarray(allowed[..., 0]), play.actions, STAY)
    again, transition = play.all_at_once(play.keys, play.states, cleaned, play.params)
    if not same(again, play.after) or not same(transition.reward, play.transitions.reward):
        return "a step with illegal actions differs from one where their players stay"
    return ""


def _out_of_range_is_stay(play: Play) -> str:
    actions = np.asarray(play.actions)
    beyond = np.array([-1, len(play.env.actions), 2**31 - 1, -(2**31)], actions.dtype)
    number = np.arange(actions.size).reshape(actions.shape)
    strange = np.where(number % 3 == 0, beyond[number // 3 % 4], actions)
    staying = np.where(number % 3 == 0, STAY, actions)

    def outcome(actions: np.ndarray) -> Any:
        step = play.all_at_once(play.keys, play.states, jnp.asarray(actions), play.params)
        return step[0], step[1].reward, {name: e.mask for name, e in step[1].events.items()}

    if not same(outcome(strange), outcome(staying)):
        return f"a step with actions such as {beyond.tolist()} differs from one with `stay`"
    return ""


def _jit_equals_eager(play: Play) -> str:
    state, transition = play.env.step(play.keys[0], play.first, play.actions[0], play.params)
    compiled = jax.tree.map(lambda x: x[0], (play.after, play.transitions))
    return "" if same((state, transition), compiled) else "the first step differs"


def _vmap_equals_loop(play: Play) -> str:
    after, transition = play.all_at_once(play.keys, play.states, play.actions, play.params)
    look = jax.jit(jax.vmap(play.env.observe, (0, None)))
    together = (after, transition, look(after, play.params))
    return "" if same(together, (play.after, play.transitions, play.views)) else "steps differ"


def _same_key_same_episode(play: Play) -> str:
    first, again = (play.reset(play.keys[0], play.params) for _ in range(2))
    if not same(first, again):
        return "two resets with one key differ"
    if same(first, play.reset(play.keys[1], play.params)):
        return "resets with two keys are the same, so the start is not drawn"
    return ""


def _any_key(play: Play) -> str:
    key = jax.random.key(0)
    state = jax.eval_shape(play.env.reset, key, play.params)
    jax.eval_shape(play.env.step, key, state, play.actions[0], play.params)
    return ""


def _time_outs_truncate(play: Play) -> str:
    both = np.asarray(play.transitions.terminated) & np.asarray(play.transitions.truncated)
    return "a step is both terminated and truncated" if both.any() else ""


def _rewards_add_up(play: Play) -> str:
    transitions = play.transitions
    stages = [np.asarray(x) for x in (transitions.raw, transitions.distributed, transitions.reward)]
    if any(stage.shape != (len(play.actions), play.env.players) for stage in stages):
        return f"shapes {[stage.shape for stage in stages]}"
    if not all(np.isfinite(stage).all() for stage in stages):
        return "a reward is not finite"
    if not np.allclose(stages[0].sum(1), stages[1].sum(1), atol=1e-4):
        return "pooling changes the sum of rewards"
    return ""


def _params_are_leaves(play: Play) -> str:
    twice = jax.tree.map(lambda x: jnp.stack([x, x]), play.params)
    step = jax.jit(jax.vmap(play.env.step, (None, None, None, 0)))
    after, _ = step(play.keys[0], play.first, play.actions[0], twice)
    expected = jax.tree.map(lambda x: x[0], play.after)
    lane = jax.tree.map(lambda x: x[1], after)
    return "" if same(lane, expected) else "a batch of parameters changes the step"


def _one_window(play: Play) -> str:
    spec = play.env.view_spec
    last, view = jax.tree.map(lambda x: x[-1], (play.after, play.views))
    for player in range(min(play.env.players, 3)):
        scene = play.env.scene(last, play.params, player=player)
        if not np.array_equal(scene.ground, np.asarray(view.cells)[player, spec.plane("ground")]):
            return f"player {player} sees other ground in its scene than in its view"
        seen = int((np.asarray(view.cells)[player, spec.plane("occupant")] > 0).sum())
        if seen != len(scene.bodies):
            return (
                f"player {player} sees {seen} players in its view, {len(scene.bodies)} in its scene"
            )
    return ""


def _state_to_disk(play: Play) -> str:
    leaves, structure = jax.tree.flatten(play.states)
    disk = io.BytesIO()
    np.savez(disk, *[_plain(leaf) for leaf in leaves], allow_pickle=False)
    disk.seek(0)
    stored = np.load(disk, allow_pickle=False)
    back = [
        jax.random.wrap_key_data(jnp.asarray(stored[name]), impl=jax.random.key_impl(leaf))
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        else jnp.asarray(stored[name])
        for name, leaf in zip(stored.files, leaves, strict=True)
    ]
    states = structure.unflatten(back)
    after, _ = play.all_at_once(play.keys, states, play.actions, play.params)
    return "" if same(after, play.after) else "the episode goes on differently"
