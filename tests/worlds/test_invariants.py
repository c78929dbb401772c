"""What holds after any step from any state under any actions."""

import dataclasses
import functools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sociarium
from sociarium.catalogue import find
from sociarium.core.actions import find_action
from sociarium.core.facets import Board
from tests.families import FAMILIES
from tests.worlds.comparison import PAIRS
from tests.worlds.dilemmas import FERTILE

CASES = (  # every world, and one, two and seven players
    ("coins-v0", 1),
    ("coins-v0", 2),
    ("coins-v0", 7),
    ("harvest_open-v0", 7),
    ("harvest_closed-v0", 2),
    ("harvest_partnership-v0", 1),
    ("harvest_one_tree-v0", 3),
    ("clean_up-v0", 2),
    ("clean_up-v0", 7),
    ("coop_mining-v0", 1),
    ("coop_mining-v0", 7),
    ("mushrooms-v0", 2),
    ("mushrooms-v0", 7),
    ("gift_refinement-v0", 2),
    ("gift_refinement-v0", 7),
    ("pd_arena-v0", 1),
    ("pd_arena-v0", 7),
    ("frontier_easy-v0", 2),
    ("frontier_hard-v0", 7),
    ("frontier_exploration-v0", 1),
    ("frontier_survival-v0", 7),
)
OFTEN = (("coins-v0", 2), *((name, 7) for name in FAMILIES))  # the other cases are slow
ALSO_1, ALSO_2 = (pytest.param(players, marks=pytest.mark.slow) for players in (1, 2))


@dataclasses.dataclass
class Step:
    """A step and everything around it, as NumPy."""

    actions: np.ndarray
    before: object
    legal_before: np.ndarray
    after: object
    transition: object
    legal: np.ndarray
    view: object
    after_staying: object  # the same step with illegal actions replaced by `stay`
    params: object


class Steps:
    """One compiled step of a world, from many states."""

    def __init__(self, name, players):
        self.env = sociarium.make(name, players=players)
        self.world = type(self.env).__name__
        self.pair = PAIRS[name]
        self.start = jax.jit(self.env.reset)(sociarium.key(0), self.env.params())
        self._step = jax.jit(self._around)

    def _around(self, key, state, actions, params):
        env, before = self.env, self.env.legal(state, params)
        after, transition = env.step(key, state, actions, params)
        able = before[np.arange(env.players), actions]
        staying, _ = env.step(key, state, actions * able, params)
        view = env.observe(after, params)
        return before, after, transition, env.legal(after, params), view, staying

    def take(self, seed, actions):
        """A step from a crowded state."""
        rng = np.random.default_rng(seed)
        params = self.env.params(**self.pair.lively(self.env, rng))
        state = self.pair.crowded(self.env, jax.tree.map(np.asarray, self.start), rng)
        actions = np.array(actions[: self.env.players], np.int32) % len(self.env.actions)
        legal_before, *rest = jax.tree.map(
            np.asarray, self._step(sociarium.key(seed), state, actions, params)
        )
        return Step(actions, state, legal_before, *rest, jax.tree.map(np.asarray, params))


compiled = functools.cache(Steps)


def chosen(cases):
    """A fixture over these cases."""
    marks = {case: () if case in OFTEN else (pytest.mark.slow,) for case in cases}
    params = [pytest.param(c, marks=m, id=f"{c[0]}-{c[1]}") for c, m in marks.items()]

    @pytest.fixture(scope="module", params=params)
    def steps(request):
        return compiled(*request.param)

    return steps


steps = chosen(CASES)
frontier = chosen([case for case in CASES if find(case[0]).kind == "frontier"])
dilemma = chosen([case for case in CASES if find(case[0]).kind == "dilemma"])


def worlds_of(table):
    """A fixture over the cases of the worlds in a table, by the names of their classes."""
    cases = [case for case in CASES if find(case[0]).load().__name__ in table]
    assert {find(case[0]).load().__name__ for case in cases} == {*table}
    return chosen(cases)


any_step = given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 62), min_size=7, max_size=7))
few = settings(max_examples=25)


def in_play(env, state):
    return state.body != env.terrain.nowhere


@few
@any_step
def test_players_in_play_stand_on_distinct_cells_that_are_no_walls(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    standing = step.after.body[in_play(env, step.after)]
    assert len(set(standing.tolist())) == len(standing)
    wall = step.after.block if hasattr(step.after, "block") else env.terrain.wall.ravel()
    assert not wall[standing].any()
    if hasattr(step.after, "heading"):
        assert ((step.after.heading >= 0) & (step.after.heading < 4)).all()


@few
@any_step
def test_players_step_at_most_one_cell_unless_they_return(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    stayed = in_play(env, step.before) & in_play(env, step.after)
    if "returned" in step.transition.events:
        stayed &= ~step.transition.events["returned"].mask
    old, new = (np.stack(np.divmod(s.body, env.terrain.cols)) for s in (step.before, step.after))
    apart = abs(old - new)
    if env.window.wraps:
        apart = np.minimum(apart, np.array(env.facet(Board).shape)[:, None] - apart)
    assert (apart.sum(0)[stayed] <= 1).all()


@few
@any_step
def test_who_is_out_of_play_is_nowhere_sees_nothing_and_may_only_stay(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    out = ~in_play(env, step.after)
    if hasattr(step.after, "away"):
        assert out[step.after.away > 0].all()
    elif hasattr(step.after, "energy"):
        assert np.array_equal(out, step.after.energy == 0)
    else:
        assert not out.any()
    assert not step.view.cells[out].any()
    assert not step.legal[out, 1:].any()
    assert step.view.cells[~out].any(axis=(1, 2, 3)).all()


@few
@any_step
def test_everybody_may_always_stay_and_no_row_is_empty(steps, seed, actions):
    step = steps.take(seed, actions)
    assert step.legal[:, 0].all()
    assert step.legal.shape == (steps.env.players, len(steps.env.actions))


@few
@any_step
def test_illegal_actions_do_what_staying_does(steps, seed, actions):
    step = steps.take(seed, actions)
    same = jax.tree.map(np.array_equal, step.after, step.after_staying)
    assert all(jax.tree.leaves(same))


TAKING = (
    "ate",
    "took_own",
    "took_other",
    "mined_iron",
    "mined_gold",
    "ate_red",
    "ate_green",
    "ate_blue",
    "ate_orange",
    "picked",
    "took_cooperate",
    "took_defect",
)
THINGS = {"coin": -1, "apple": False, "ore": 0, "mushroom": 0, "token": False}  # and what is none


@few
@any_step
def test_things_change_only_by_being_taken_and_by_growing(dilemma, seed, actions):
    """What is gone was taken by somebody; nothing but ore grows under a player."""
    env, step = dilemma.env, dilemma.take(seed, actions)
    old, new = lying(env, step.before), lying(env, step.after)
    events = step.transition.events
    taking = [events[kind] for kind in TAKING if kind in events]
    taken = set(np.concatenate([event.cell[event.mask] for event in taking]).tolist())
    changed = {cell for cell in old if new.get(cell) != old[cell]}
    assert changed <= taken <= old.keys()
    grown = new.keys() - (old.keys() - taken)
    assert hasattr(step.after, "ore") or not grown & set(step.after.body.tolist())


def lying(env, state):
    """{cell: what lies there}."""
    (thing,) = (name for name in THINGS if hasattr(state, name))
    cells = next(getattr(env, name) for name in FERTILE if hasattr(env, name))
    pairs = zip(cells.tolist(), getattr(state, thing).tolist(), strict=True)
    return {cell: code for cell, code in pairs if code != THINGS[thing]}


@few
@any_step
def test_reward_is_what_the_events_say(steps, seed, actions):
    step = steps.take(seed, actions)
    expected = DUE[steps.world](step.transition.events, step.params, steps.env)
    assert np.allclose(step.transition.reward, expected, rtol=0, atol=2e-6)
    assert np.array_equal(step.transition.raw, step.transition.reward)
    assert np.array_equal(step.transition.distributed, step.transition.reward)


def _for_coins(events, params, env):
    own, other = events["took_own"], events["took_other"]
    lost = np.bincount(other.other[other.mask], minlength=env.players)
    return (own.mask | other.mask) * params.coin_reward + lost * params.loss


def _for_apples(events, params, env):
    return events["ate"].mask * params.apple_reward


def _for_ore(events, params, env):
    iron, gold = events["mined_iron"].mask, events["mined_gold"].mask
    return iron * params.iron_reward + gold * params.gold_reward


def _for_mushrooms(events, params, env):
    red, green, blue, orange = (
        events[f"ate_{kind}"].mask for kind in ("red", "green", "blue", "orange")
    )
    to_self, to_all, to_others, to_each = params.pays.astype(float)
    by_others = (blue.sum() - blue) * to_others / max(env.players - 1, 1)
    return red * to_self + green.sum() * to_all / env.players + by_others + orange.sum() * to_each


def _for_tokens(events, params, env):
    return events["consumed"].mask * events["consumed"].value * params.token_reward


def _for_goods(events, params, env):
    return (gained(events, params, env) * params.worth[env.job]).sum(1)


def gained(events, params, env):
    """What everybody's bag gained, by the events, which tell kinds and recipes by number."""
    bags = np.zeros((env.players, len(env.kinds)), int)
    for kind, sign in (("picked", 1), ("dumped", -1), ("ate", -1)):
        if kind in events:
            seats = np.flatnonzero(events[kind].mask)
            bags[seats, events[kind].value[seats].astype(int)] += sign
    seats = np.flatnonzero(events["synthesised"].mask)
    recipe = 1 + events["synthesised"].value[seats].astype(int)
    bags[seats] += params.outputs[recipe] - params.inputs[recipe]
    return bags


def _for_meetings(events, params, env):
    return sum(events[kind].mask * events[kind].value for kind in ("met", "was_met"))


DUE = {
    "Coins": _for_coins,
    "Harvest": _for_apples,
    "CleanUp": _for_apples,
    "CoopMining": _for_ore,
    "Mushrooms": _for_mushrooms,
    "GiftRefinement": _for_tokens,
    "PDArena": _for_meetings,
    "Frontier": _for_goods,
}


@few
@any_step
def test_every_code_of_a_view_is_in_its_spec(steps, seed, actions):
    env, step = steps.env, steps.take(seed, actions)
    spec = env.view_spec
    shape = (env.players, len(spec.planes), spec.rows, spec.cols)
    assert (step.view.cells.shape, step.view.cells.dtype) == (shape, np.uint8)
    for number, plane in enumerate(spec.planes):
        assert step.view.cells[:, number].max() < len(plane.codes)
    assert (step.view.own.shape, step.view.own.dtype) == ((env.players, len(spec.own)), np.int16)
    for number, own in enumerate(spec.own):
        values = step.view.own[:, number]
        assert own.low <= values.min() and values.max() <= own.high


@pytest.mark.parametrize("players", [ALSO_2, 7])
@few
@any_step
def test_waste_changes_by_what_was_cleaned_and_fouled(players, seed, actions):
    step = compiled("clean_up-v0", players).take(seed, actions)
    cleaned, fouled = (step.transition.events[kind] for kind in ("cleaned", "fouled"))
    change = step.after.waste.sum() - step.before.waste.sum()
    assert change == fouled.mask.sum() - cleaned.value[cleaned.mask].sum()
    assert fouled.mask.sum() <= 1
    assert step.after.waste[fouled.mask].all()


@few
@any_step
def test_time_passes(steps, seed, actions):
    step = steps.take(seed, actions)
    assert step.after.clock == step.before.clock + 1
    over = not in_play(steps.env, step.after).any()
    assert step.transition.terminated == (over and hasattr(step.after, "energy"))
    timed_out = step.after.clock >= step.params.horizon
    assert step.transition.truncated == (timed_out and not step.transition.terminated)


def _shot(step, wait, pose):
    return getattr(step.after, pose) >= 0, getattr(step.params, wait)


def _exile(step):
    events = step.transition.events
    sent = events["zapped"].mask if "zapped" in events else played(events)
    if hasattr(step.params, "exile"):
        return sent, step.params.exile
    drawn = step.after.away[sent]
    assert ((drawn >= step.params.least_exile) & (drawn <= step.params.most_exile)).all()
    return sent, drawn


def _digestion(step):
    kinds = ("red", "green", "blue", "orange")
    ate = np.stack([step.transition.events[f"ate_{kind}"].mask for kind in kinds])
    return ate.any(0), step.params.digestion[ate.argmax(0)][ate.any(0)]


TIMERS = {  # who sets it in a step, and to what
    "away": _exile,
    "cooldown": functools.partial(_shot, wait="recharge", pose="fired"),
    "zap_cooldown": functools.partial(_shot, wait="zap_recharge", pose="zapped_from"),
    "clean_cooldown": functools.partial(_shot, wait="clean_recharge", pose="cleaned_from"),
    "digesting": _digestion,
}
TIMERS_OF = {
    "Harvest": ("away", "cooldown"),
    "CleanUp": ("away", "zap_cooldown", "clean_cooldown"),
    "CoopMining": ("cooldown",),
    "Mushrooms": ("away", "cooldown", "digesting"),
    "GiftRefinement": ("cooldown",),
    "PDArena": ("away", "cooldown"),
}
BEAMS_OF = {  # the action, and the field of the pose it was fired from
    "Harvest": {"zap": "fired"},
    "CleanUp": {"zap": "zapped_from", "clean": "cleaned_from"},
    "CoopMining": {"mine": "fired"},
    "Mushrooms": {"zap": "fired"},
    "GiftRefinement": {"gift": "fired"},
    "PDArena": {"interact": "fired"},
}
timed, armed = worlds_of(TIMERS_OF), worlds_of(BEAMS_OF)


@few
@any_step
def test_timers_run_down_by_one_unless_they_are_set(timed, seed, actions):
    step = timed.take(seed, actions)
    for timer in TIMERS_OF[timed.world]:
        old, new = getattr(step.before, timer), getattr(step.after, timer)
        mask, value = TIMERS[timer](step)
        assert (new[mask] == value).all()
        assert (new[~mask] == np.maximum(old - 1, 0)[~mask]).all()


@few
@any_step
def test_beams_are_fired_by_who_may_and_chose_to(armed, seed, actions):
    env, step = armed.env, armed.take(seed, actions)
    for act, pose in BEAMS_OF[armed.world].items():
        number = find_action(env.actions, act)
        chose = (step.actions == number) & step.legal_before[:, number]
        assert np.array_equal(getattr(step.after, pose) >= 0, chose)


def played(events):
    """Who was in a meeting."""
    return events["met"].mask | events["was_met"].mask


@pytest.mark.parametrize("players", [ALSO_1, 7])
@few
@any_step
def test_gold_is_mined_by_enough_and_claimed_only_where_it_is_open(players, seed, actions):
    mine = compiled("coop_mining-v0", players)
    step = mine.take(seed, actions)
    events, params, after = step.transition.events, step.params, step.after
    at_work = after.claim < mine.env.places
    assert (after.ore[after.claim[at_work]] == 2).all()
    assert (after.closing[at_work] > 0).all() and not after.closing[~at_work].any()
    assert (after.closing <= np.maximum(step.before.closing.max() - 1, params.open_for)).all()
    for claim in set(after.claim[at_work].tolist()):
        assert len(set(after.closing[after.claim == claim].tolist())) == 1
    iron = events["mined_iron"]
    assert len(set(iron.cell[iron.mask].tolist())) == iron.mask.sum()
    for kind in ("mined_gold", "failed"):
        cells = events[kind].cell[events[kind].mask].tolist()
        for cell in cells:
            enough = params.fewest <= cells.count(cell) <= params.most
            assert enough == (kind == "mined_gold")


@pytest.mark.parametrize("players", [ALSO_2, 7])
@few
@any_step
def test_bags_change_by_what_was_picked_given_got_and_consumed(players, seed, actions):
    step = compiled("gift_refinement-v0", players).take(seed, actions)
    events, before, after = step.transition.events, step.before, step.after
    picked, gave, consumed = (events[kind] for kind in ("picked", "gave", "consumed"))
    raw = before.raw + picked.mask
    assert np.array_equal(
        consumed.value[consumed.mask], (raw + before.refined + before.precious)[consumed.mask]
    )
    kept = ~consumed.mask
    gave_raw, gave_refined = gave.mask & (raw > 0), gave.mask & (raw == 0)
    got_refined, got_precious = (
        np.bincount(gave.other[given], minlength=players) * step.params.growth
        for given in (gave_raw, gave_refined)
    )
    room = step.params.capacity
    assert np.array_equal(after.raw, raw * kept - gave_raw)
    refined = before.refined * kept - gave_refined + got_refined
    assert np.array_equal(after.refined, np.minimum(refined, room))
    assert np.array_equal(after.precious, np.minimum(before.precious * kept + got_precious, room))
    for bag in (after.raw, after.refined, after.precious):
        assert bag.min() >= 0 and bag.max() <= room
    assert (gave.other[gave.mask] != np.flatnonzero(gave.mask)).all()


@pytest.mark.parametrize("players", [ALSO_1, 7])
@few
@any_step
def test_bags_grow_by_what_was_taken_and_are_empty_after_a_meeting(players, seed, actions):
    step = compiled("pd_arena-v0", players).take(seed, actions)
    events, before, after = step.transition.events, step.before, step.after
    stays = ~played(events)
    for kind in ("cooperate", "defect"):
        bag = getattr(before, kind) + events[f"took_{kind}"].mask
        assert np.array_equal(getattr(after, kind), bag * stays)


@pytest.mark.parametrize("players", [ALSO_1, 7])
@few
@any_step
def test_every_meeting_has_two_and_nobody_is_in_two(players, seed, actions):
    events = compiled("pd_arena-v0", players).take(seed, actions).transition.events
    met, was_met = events["met"], events["was_met"]
    hosts, guests = np.flatnonzero(met.mask), np.flatnonzero(was_met.mask)
    assert sorted(met.other[hosts].tolist()) == guests.tolist()
    assert (was_met.other[met.other[hosts]] == hosts).all()
    assert not (met.mask & was_met.mask).any()


@pytest.mark.parametrize("players", [ALSO_2, 7])
@few
@any_step
def test_no_more_mushrooms_grow_than_spores_were_spread(players, seed, actions):
    step = compiled("mushrooms-v0", players).take(seed, actions)
    events, tries = step.transition.events, step.params.spores
    red, green, blue, orange = (
        events[f"ate_{kind}"].mask.sum() for kind in ("red", "green", "blue", "orange")
    )
    fed = (red + green + blue + orange, green + blue, blue, orange)
    grown = np.bincount(step.after.mushroom[events["sprouted"].mask], minlength=5)[1:]
    assert (grown <= np.array(fed) * tries).all()


@few
@any_step
def test_goods_change_only_by_recipes_and_eating(frontier, seed, actions):
    env, step = frontier.env, frontier.take(seed, actions)
    events, params = step.transition.events, step.params
    all_goods = lambda state: state.goods.sum(1, dtype=int) + state.inventory.sum(0)  # noqa: E731
    recipe = 1 + events["synthesised"].value[events["synthesised"].mask].astype(int)
    change = (params.outputs[recipe] - params.inputs[recipe]).sum(0)
    if "ate" in events:
        eaten = events["ate"].value[events["ate"].mask].astype(int)
        change = change - np.bincount(eaten, minlength=len(env.kinds))
    assert np.array_equal(all_goods(step.after) - all_goods(step.before), change)
    assert np.array_equal(step.after.inventory - step.before.inventory, gained(events, params, env))


@few
@any_step
def test_the_sum_of_rewards_is_the_change_of_total_worth(frontier, seed, actions):
    env, step = frontier.env, frontier.take(seed, actions)
    old, new = (
        (state.inventory * step.params.worth[env.job]).sum() for state in (step.before, step.after)
    )
    assert step.transition.reward.sum() == pytest.approx(new - old, abs=1e-4)


@few
@any_step
def test_what_can_be_done_is_done_and_nothing_else(frontier, seed, actions):
    env, step = frontier.env, frontier.take(seed, actions)
    able = step.legal_before[np.arange(env.players), step.actions]
    verbs = np.array([env.actions[action].verb for action in step.actions])
    told = {"pick": "picked", "dump": "dumped", "synthesise": "synthesised", "eat": "ate"}
    for verb, kind in told.items():
        if kind in step.transition.events:
            happened = step.transition.events[kind].mask
            assert np.array_equal(happened, (verbs == verb) & able)
    changed = (step.after.inventory != step.before.inventory).any(1)
    assert changed[np.isin(verbs, ["pick", "dump", "eat"]) & able].all()
    assert not changed[~np.isin(verbs, list(told)) | ~able].any()


@few
@any_step
def test_nobody_carries_more_than_its_capacity_or_less_than_nothing(frontier, seed, actions):
    env, step = frontier.env, frontier.take(seed, actions)
    room = np.maximum(step.params.capacity[env.job], step.before.inventory)
    assert (step.after.inventory <= room).all() and (step.after.inventory >= 0).all()


@few
@any_step
def test_piles_are_part_of_what_lies_and_what_was_left_has_a_leaver(frontier, seed, actions):
    env, step = frontier.env, frontier.take(seed, actions)
    before, after = step.before, step.after
    in_pile = after.wild * (after.vein == np.arange(len(env.kinds))[:, None])
    assert (in_pile <= after.goods).all() and (after.wild <= before.wild).all()
    leaver = after.left_by[after.goods > in_pile]
    assert ((leaver >= 0) & (leaver < env.players)).all()
    for fixed in ("block", "workplace", "vein"):
        assert np.array_equal(getattr(after, fixed), getattr(before, fixed))
    beyond = env.terrain.cells
    assert not after.goods[:, beyond:].any() and not after.wild[beyond:].any()
    assert (after.left_by[:, beyond:] == -1).all()


def test_seeds_reproduce_bit_for_bit_whatever_the_size_of_the_batch():
    env = sociarium.make("frontier_survival-v0")
    params, lanes = env.params(), 5

    def episode(key):
        def step(state, key):
            words = jax.random.bits(key, (env.players,), np.uint32)
            actions = (words % len(env.actions)).astype(np.int32)
            state, transition = env.step(key, state, actions, params)
            return state, transition.reward

        start = env.reset(key, params)
        return jax.lax.scan(step, start, jax.random.split(key, 30))

    keys = jax.random.split(sociarium.key(5), lanes)
    together = jax.tree.map(np.asarray, jax.jit(jax.vmap(episode))(keys))
    alone = jax.jit(episode)
    for lane in range(lanes):
        one = jax.tree.map(lambda leaf, lane=lane: leaf[lane], together)
        assert jax.tree.all(jax.tree.map(np.array_equal, one, alone(keys[lane])))
