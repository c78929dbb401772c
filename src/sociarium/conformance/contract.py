"""The public conformance suite: what every environment must keep, ours and other people's.

sociarium.check(MyWorld())            # raises ContractBroken, naming the clause
"""

import io
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sociarium import catalogue
from sociarium.conformance import facet_clauses
from sociarium.core import random
from sociarium.core.actions import STAY, action_names
from sociarium.core.environment import Environment
from sociarium.core.errors import ContractBroken, UnknownName
from sociarium.core.facets import Board

PART = 40  # steps that one program plays; the parts make up the episode

CLAUSES = {
    "names": "Action 0 is `stay`; actions, planes, ties, events and gauges have distinct names.",
    "fixed shapes": "A step keeps the structure, shapes and types of the state.",
    "declared events": "A transition holds exactly the declared events, with seats in range.",
    "known causes": "What can cause an event is something that players can do.",
    "facets": "Every facet that is declared holds what it declares.",
    "declared gauges": "Gauges are exactly the declared ones, and finite.",
    "view in spec": "Views have the declared shape and every code and number is in its range.",
    "shared is equal": "All who are present see the same shared numbers.",
    "out of play": "Who is out of play sees code 0 everywhere in its window.",
    "stay is legal": "Everybody may always stay, so no row of `legal` is empty.",
    "illegal is stay": "An illegal action does what `stay` does.",
    "out of range is stay": "An action below 0 or beyond the last does what `stay` does.",
    "jit equals eager": "Compiled and uncompiled steps agree bit for bit.",
    "vmap equals loop": "Each lane of a batch agrees bit for bit with the same lane alone.",
    "same key, same episode": "One key gives one start; where it is drawn, another key another.",
    "any key": "Threefry keys work as well as the fast generator's.",
    "time-outs truncate": "No step is both terminated and truncated; the horizon truncates.",
    "rewards add up": "Rewards are finite at all three stages, and pooling keeps their sum.",
    "params are leaves": "Every parameter is an array and can be batched with vmap.",
    "one window": "A player's scene shows exactly the codes of its view.",
    "state to disk": "A state written to disk and read back continues the same episode.",
}


@dataclass
class Play:
    """A part of a random episode with everything kept, NumPy arrays with a leading time axis."""

    env: Environment[Any, Any]
    params: Any
    reset: Callable[..., Any]  # compiled
    number: int  # of its first step
    first: Any  # the state it begins with
    keys: Any
    actions: Any
    after: Any
    transitions: Any
    views: Any
    legal: Any
    gauges: Any
    present: Any  # after each step

    @property
    def states(self) -> Any:
        """The state before each step."""
        return jax.tree.map(lambda x, y: _joined(x, y[:-1]), self.first, self.after)

    @property
    def ended(self) -> bool:
        """Whether the episode ends with this part."""
        return bool(self.transitions.truncated[-1] | self.transitions.terminated[-1])

    @cached_property
    def all_at_once(self) -> Callable[[Any, Any], Any]:
        """Every step as a lane of one batch: the state after it, what it did, and what is seen.

        Parameters are a batch, too.
        """

        def step(key: Any, state: Any, action: Any, params: Any) -> Any:
            after, transition = self.env.step(key, state, action, params)
            return after, transition, self.env.observe(after, params)

        many = jax.jit(jax.vmap(step))
        lanes = len(self.actions)
        params = jax.tree.map(lambda x: np.broadcast_to(x, (lanes, *np.shape(x))), self.params)
        return lambda states, actions: _numpy(many(self.keys, states, actions, params))


def check(
    env: Environment[Any, Any] | str,
    *,
    steps: int | None = None,
    seed: int = 0,
    skip: Collection[str] = (),
) -> tuple[str, ...]:
    """Plays at random and examines every clause; returns their names or raises ContractBroken.

    `env` is an environment or its name. It plays a whole episode to its horizon, or only `steps`
    steps; clauses to `skip` are left out.
    """
    findings = examine(catalogue.environment(env), steps=steps, seed=seed, skip=skip)
    broken = [(name, detail) for name, detail in findings if detail]
    if broken:
        raise ContractBroken(
            "\n".join(f"{name}: {CLAUSES[name]} Found: {detail}" for name, detail in broken)
        )
    return tuple(name for name, _ in findings)


def examine(
    env: Environment[Any, Any],
    *,
    steps: int | None = None,
    seed: int = 0,
    skip: Collection[str] = (),
    on_progress: Callable[[str], None] = lambda clause: None,
) -> list[tuple[str, str]]:
    """Each clause with what was found against it first ("" where it holds)."""
    for name in skip:
        if name not in CLAUSES:
            raise UnknownName("clause", name, tuple(CLAUSES))
    on_progress("playing")
    params = env.params()
    steps = int(env.horizon(params)) if steps is None else steps
    parts = _episode(env, params, random.key(seed), steps)
    opening = next(parts)
    found: dict[str, str] = {}
    for clause, test in _AT_THE_START.items():
        if clause not in skip:
            on_progress(clause)
            found[clause] = test(opening)
    part = opening
    while part is not None:
        on_progress(f"step {part.number + len(part.actions)}")
        for clause, test in _AT_EVERY_STEP.items():
            if clause not in skip and not found.get(clause):
                found[clause] = test(part)
        part = None if part.ended else next(parts, None)
    return [(clause, found[clause]) for clause in CLAUSES if clause in found]


def _episode(env: Environment[Any, Any], params: Any, key: Any, steps: int) -> Iterator[Play]:
    """The parts of an episode, played by one program; the last may be shorter."""
    k_start, k_steps, k_actions = jax.random.split(key, 3)
    size = min(PART, steps)

    @jax.jit
    def run(first: Any, begin: Any, params: Any) -> Any:
        clocks = begin + jnp.arange(size)
        keys = jax.vmap(lambda clock: jax.random.fold_in(k_steps, clock))(clocks)
        words = jax.vmap(
            lambda clock: random.bits(jax.random.fold_in(k_actions, clock), env.players)
        )(clocks)
        actions = random.randint_from_bits(words, jnp.full(words.shape, len(env.actions)))

        def one(state: Any, given: Any) -> Any:
            key, action = given
            legal = env.legal(state, params)
            after, transition = env.step(key, state, action, params)
            seen = env.observe(after, params), legal, env.gauges(after, params)
            return after, (after, transition, *seen, env.present(after))

        return keys, actions, *jax.lax.scan(one, first, (keys, actions))

    reset = jax.jit(env.reset)
    first = reset(k_start, params)
    for number in range(0, steps, size):
        keys, actions, last, kept = run(first, np.int32(number), params)
        actions, kept = _numpy((actions, kept))
        ends = kept[1].truncated | kept[1].terminated
        length = int(np.argmax(ends)) + 1 if ends.any() else size
        length = min(length, steps - number)
        actions, kept = jax.tree.map(lambda x, n=length: x[:n], (actions, kept))
        yield Play(env, params, reset, number, _numpy(first), keys[:length], actions, *kept)
        first = last


def _numpy(tree: Any) -> Any:
    """The tree with its arrays in NumPy; random keys stay what they are."""
    return jax.tree.map(lambda x: x if _is_key(x) else np.asarray(x), tree)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _joined(first: Any, rest: Any) -> Any:
    """One more at the front of many."""
    return (jnp if _is_key(first) else np).concatenate([first[None], rest])


def same(a: Any, b: Any) -> bool:
    """Whether two trees have the same structure and the same bits."""
    a_leaves, a_tree = jax.tree.flatten(a)
    b_leaves, b_tree = jax.tree.flatten(b)
    return a_tree == b_tree and all(
        x.dtype == y.dtype and np.array_equal(_plain(x), _plain(y))
        for x, y in zip(a_leaves, b_leaves, strict=True)
    )


def _plain(leaf: Any) -> np.ndarray:
    if _is_key(leaf):
        return np.asarray(jax.random.key_data(leaf))
    return np.asarray(leaf)


def _names(play: Play) -> str:
    env, social = play.env, play.env.view_spec.social
    if (stay := env.actions[STAY]).name != "stay" or stay.verb != "stay":
        return f"action 0 is {stay.name!r}"
    for what, names in (
        ("actions", action_names(env.actions)),
        ("meanings of actions", [(a.verb, a.object, a.direction, a.number) for a in env.actions]),
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

    before, after = shape(play.first), shape(_step_of(play.after, 0))
    return "" if before == after else f"reset gives {before}, step gives {after}"


def _declared_events(play: Play) -> str:
    declared = {spec.name for spec in play.env.event_specs}
    if set(play.transitions.events) != declared:
        return f"declared {sorted(declared)}, found {sorted(play.transitions.events)}"
    for spec in play.env.event_specs:
        kind = play.transitions.events[spec.name]
        mask, other = np.asarray(kind.mask), np.asarray(kind.other)
        slots = (spec.slots,) if spec.slots > 1 else ()
        expected = (mask.shape[1] if spec.axis == "place" else play.env.players, *slots)
        if mask.shape[1:] != expected:
            return f"{spec.name} runs over {mask.shape[1:]}, not over {expected}"
        if ((other[mask] < -1) | (other[mask] >= play.env.players)).any():
            return f"{spec.name} names seats outside 0..{play.env.players - 1}"
    return ""


def _known_causes(play: Play) -> str:
    verbs = {action.verb for action in play.env.actions}
    for spec in play.env.event_specs:
        unknown = set(spec.causes) - verbs
        if unknown:
            return f"{spec.name} is caused by {', '.join(sorted(unknown))}, which nobody can do"
    return ""


def _facets(play: Play) -> str:
    states = jax.tree.map(jnp.asarray, play.after)
    for facet in play.env.facets:
        if type(facet) in facet_clauses.CLAUSES:
            clause = facet_clauses.CLAUSES[type(facet)]
            found = clause(play.env, play.params, states, play.views, np.asarray(play.present))
            if found:
                return f"{type(facet).__name__}: {found}"
    return ""


def _declared_gauges(play: Play) -> str:
    declared = {spec.name for spec in play.env.gauge_specs}
    if set(play.gauges) != declared:
        return f"declared {sorted(declared)}, found {sorted(play.gauges)}"
    for name, level in play.gauges.items():
        if not np.isfinite(level).all():
            step = int(np.argmin(np.isfinite(level)))
            return f"{name} is {level[step]} after step {play.number + step + 1}"
    return ""


def _view_in_spec(play: Play) -> str:
    env, spec = play.env, play.env.view_spec
    cells = np.asarray(play.views.cells)
    expected = (env.players, len(spec.planes), spec.rows, spec.cols)
    if cells.shape[1:] != expected or cells.dtype != np.uint8:
        return f"cells are {cells.dtype}{cells.shape[1:]}, declared uint8{expected}"
    for index, plane in enumerate(spec.planes):
        if cells[:, :, index].max() >= len(plane.codes):
            return f"plane {plane.name} shows code {cells[:, :, index].max()} of {plane.codes}"
    for name, declared in (("own", spec.own), ("shared", spec.shared)):
        numbers = np.asarray(getattr(play.views, name))
        if numbers.shape[1:] != (env.players, len(declared)) or numbers.dtype != np.int16:
            return f"{name} numbers are {numbers.dtype}{numbers.shape[1:]}"
        for index, number in enumerate(declared):
            low, high = numbers[..., index].min(), numbers[..., index].max()
            if low < number.low or high > number.high:
                allowed = f"{number.low}..{number.high}"
                return f"{number.name} ranges over {low}..{high}, declared {allowed}"
    return _social_in_spec(play)


def _shared_is_equal(play: Play) -> str:
    """All who are present see the same shared numbers."""
    shared, present = np.asarray(play.views.shared), np.asarray(play.present)
    for step, (numbers, here) in enumerate(zip(shared, present, strict=True)):
        if len(np.unique(numbers[here], axis=0)) > 1:
            return f"players see different shared numbers after step {play.number + step + 1}"
    return ""


def _social_in_spec(play: Play) -> str:
    env, spec, seen = play.env, play.env.view_spec.social, play.views.social
    if spec is None or seen is None:
        return "" if spec is seen is None else f"declared {spec}, shown {seen}"
    window = (len(env.view_spec.planes), env.view_spec.rows, env.view_spec.cols)
    declared = {
        "own": (len(spec.own),),
        "ties": (spec.contacts, len(spec.ties)),
        "shared_view": (spec.shared_views,),
        "offsets": (spec.shared_views, 3),
        "windows": (spec.shared_views, *window),
        "numbers": (len(spec.numbers),),
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
    for index, number in enumerate(spec.numbers):
        values = np.asarray(seen.numbers)[..., index]
        if not number.low <= values.min() <= values.max() <= number.high:
            return f"{number.name} is {values.min()}..{values.max()}, declared {number}"
    seats, offsets = (np.asarray(x).astype(np.int64) for x in (seen.shared_view, seen.offsets))
    if seats.size and not 0 <= seats.min() <= seats.max() <= spec.seats:
        return f"shared views are {seats.min()}..{seats.max()}, declared 0..{spec.seats}"
    far, turned = abs(offsets[..., :2]), offsets[..., 2]
    if offsets.size and (far.max() > spec.far or turned.min() < 0 or turned.max() > 3):
        return f"offsets reach {far.max()} cells and turn {turned.max()}, declared {spec.far} and 3"
    return ""


def _out_of_play(play: Play) -> str:
    expected = (len(play.actions), play.env.players)
    if play.present.shape != expected or play.present.dtype != bool:
        return f"present is {play.present.dtype}{play.present.shape}, expected bool{expected}"
    shown = play.views.cells.any((2, 3, 4)) & ~play.present
    if shown.any():
        step, player = np.argwhere(shown)[0]
        return f"player {player} is out of play after step {play.number + step + 1} and sees cells"
    return ""


def _stay_is_legal(play: Play) -> str:
    legal = np.asarray(play.legal)
    expected = (play.env.players, len(play.env.actions))
    if legal.shape[1:] != expected:
        return f"legal is {legal.shape[1:]}, expected {expected}"
    return "" if legal[..., STAY].all() else "somebody may not stay"


def _illegal_is_stay(play: Play) -> str:
    allowed = np.take_along_axis(np.asarray(play.legal), np.asarray(play.actions)[..., None], 2)
    cleaned = np.where(allowed[..., 0], play.actions, STAY)
    again, transition, _ = play.all_at_once(play.states, cleaned)
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
        step = play.all_at_once(play.states, actions)
        return step[0], step[1].reward, {name: e.mask for name, e in step[1].events.items()}

    if not same(outcome(strange), outcome(staying)):
        return f"a step with actions such as {beyond.tolist()} differs from one with `stay`"
    return ""


def _jit_equals_eager(play: Play) -> str:
    first, action = jax.tree.map(jnp.asarray, (play.first, play.actions[0]))
    state, transition = play.env.step(play.keys[0], first, action, play.params)
    compiled = _step_of((play.after, play.transitions), 0)
    return "" if same((state, transition), compiled) else "the first step differs"


def _vmap_equals_loop(play: Play) -> str:
    together = play.all_at_once(play.states, play.actions)
    return "" if same(together, (play.after, play.transitions, play.views)) else "steps differ"


def _same_key_same_episode(play: Play) -> str:
    first, again = (play.reset(play.keys[0], play.params) for _ in range(2))
    if not same(first, again):
        return "two resets with one key differ"
    others = (play.reset(key, play.params) for key in play.keys[1:])
    if _draws_start(play) and all(same(first, other) for other in others):
        return "resets with all keys are the same, so the start is not drawn"
    return ""


def _draws_start(play: Play) -> bool:
    """Whether a start is made from the key at all; where it is not, every start is the same."""
    program = jax.make_jaxpr(play.env.reset)(play.keys[0], play.params).jaxpr
    needed = {id(made) for made in program.outvars}
    for step in reversed(program.eqns):
        if any(id(made) in needed for made in step.outvars):
            needed |= {id(used) for used in step.invars}
    return id(program.invars[0]) in needed


def _any_key(play: Play) -> str:
    key = jax.random.key(0)
    state = jax.eval_shape(play.env.reset, key, play.params)
    jax.eval_shape(play.env.step, key, state, play.actions[0], play.params)
    return ""


def _time_outs_truncate(play: Play) -> str:
    if (play.transitions.terminated & play.transitions.truncated).any():
        return "a step is both terminated and truncated"
    last = play.number + len(play.actions)
    if last >= int(play.env.horizon(play.params)) and not play.ended:
        return f"the episode goes on after its horizon of {last} steps"
    return ""


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
    for path, leaf in jax.tree_util.tree_flatten_with_path(play.params)[0]:
        if not isinstance(leaf, jax.Array | np.ndarray):
            return f"{jax.tree_util.keystr(path)} is {leaf!r}, not an array"
    twice = jax.tree.map(lambda x: jnp.stack([x, x]), play.params)
    step = jax.vmap(play.env.step, (None, None, None, 0))
    after, _ = jax.eval_shape(step, play.keys[0], play.first, play.actions[0], twice)
    shapes = [(leaf.shape[1:], leaf.dtype) for leaf in jax.tree.leaves(after)]
    expected = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(play.first)]
    return "" if shapes == expected else "a batch of parameters changes the shapes of a step"


def _one_window(play: Play) -> str:
    spec = play.env.view_spec
    if not play.env.has(Board):
        return ""
    last, view = _step_of((play.after, play.views), -1)
    last, cells = jax.tree.map(jnp.asarray, last), np.asarray(view.cells)
    for player in range(min(play.env.players, 3)):
        scene = play.env.scene(last, play.params, player=player)
        for plane in spec.with_role("ground"):
            if not np.array_equal(scene.ground, cells[player, plane]):
                return f"player {player} sees other ground in its scene than in its view"
        for plane in spec.with_role("occupant"):
            seen = int((cells[player, plane] > 0).sum())
            if seen != len(scene.bodies):
                shown = len(scene.bodies)
                return f"player {player} sees {seen} players in its view, {shown} in its scene"
    return ""


def _state_to_disk(play: Play) -> str:
    leaves, structure = jax.tree.flatten(play.states)
    disk = io.BytesIO()
    np.savez(disk, *[_plain(leaf) for leaf in leaves], allow_pickle=False)
    disk.seek(0)
    stored = np.load(disk, allow_pickle=False)
    back = [
        jax.random.wrap_key_data(jnp.asarray(stored[name]), impl=jax.random.key_impl(leaf))
        if _is_key(leaf)
        else jnp.asarray(stored[name])
        for name, leaf in zip(stored.files, leaves, strict=True)
    ]
    states = structure.unflatten(back)
    after, _, _ = play.all_at_once(states, play.actions)
    return "" if same(after, play.after) else "the episode goes on differently"


def _step_of(tree: Any, step: int) -> Any:
    return jax.tree.map(lambda x: x[step], tree)


_AT_THE_START = {
    "names": _names,
    "fixed shapes": _fixed_shapes,
    "known causes": _known_causes,
    "facets": _facets,
    "illegal is stay": _illegal_is_stay,
    "out of range is stay": _out_of_range_is_stay,
    "jit equals eager": _jit_equals_eager,
    "vmap equals loop": _vmap_equals_loop,
    "same key, same episode": _same_key_same_episode,
    "any key": _any_key,
    "params are leaves": _params_are_leaves,
    "one window": _one_window,
    "state to disk": _state_to_disk,
}
_AT_EVERY_STEP = {
    "declared events": _declared_events,
    "declared gauges": _declared_gauges,
    "view in spec": _view_in_spec,
    "shared is equal": _shared_is_equal,
    "out of play": _out_of_play,
    "stay is legal": _stay_is_legal,
    "time-outs truncate": _time_outs_truncate,
    "rewards add up": _rewards_add_up,
}
assert {*_AT_THE_START, *_AT_EVERY_STEP} == {*CLAUSES}
