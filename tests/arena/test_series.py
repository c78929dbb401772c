"""Series: trials on one drawing of hidden numbers, between which players remember."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from sociarium import catalogue
from sociarium.arena.match_folder import Terms
from sociarium.arena.replay import Replay
from sociarium.arena.series import Series, SeriesTerms, resume_series, trial_folder
from sociarium.core import random
from sociarium.core.errors import BadArgument, FolderInUse, MissingFacet
from sociarium.core.hidden import draw_hidden
from tests.arena.guests import Walker
from tests.toys.meadow import Meadow
from tests.toys.stall import Stall

STALL = Stall(players=2)
LONG = Terms(steps=24)


class Brewer:
    """Learns how long tea brews, and from then on is back at the kettle just then."""

    skilled = False

    def __init__(self):
        self.brewing, self.since, self.known = None, None, []

    async def decide(self, percept, deadline):
        if percept.first:
            self.since = None
            self.known.append(self.brewing)
        if "serve" in percept.legal or "brew" in percept.legal:
            deed = "serve" if "serve" in percept.legal else "brew"
            self.since = percept.step if deed == "brew" else None
            return deed
        ready = percept.view["tea"][0][1] == 1
        if self.since is not None and ready and self.brewing is None:
            self.brewing = percept.step - self.since
        if "take" in percept.legal:
            return "take"
        place = ("pantry", "kettle", "counter")[percept.own["hands"]]
        if self.since is not None:
            place = "kettle"
        return f"go to the {place}" if f"go to the {place}" in percept.legal else "stay"

    def snapshot(self):
        return {"brewing": self.brewing, "since": self.since, "known": self.known}

    def restore(self, snapshot):
        self.brewing, self.since = snapshot["brewing"], snapshot["since"]
        self.known = list(snapshot["known"])


def series(brewer, trials=3, out=None, seed=1, **rules):
    rules = SeriesTerms(trials=trials, **rules)
    return Series(STALL, [brewer, "random"], rules, seed=seed, terms=LONG, out=out)


def test_an_agent_uses_in_later_trials_what_it_found_in_the_first():
    brewer = Brewer()
    played = series(brewer)
    kept = played.run()
    _, drawn = draw_hidden(STALL, STALL.params(), 1)
    assert [record.page.trial for record in kept] == [0, 1, 2] and played.ended
    assert [record.page.number for record in kept] == [0, 1, 2]
    assert brewer.known[0] is None and brewer.known[1] == brewer.known[2] == drawn["brewing"] + 1
    assert all(Replay(STALL, record).verify() for record in kept)
    assert played.raw_returns.shape == (3, 2)
    numbers = [record.page.numbers for record in kept]
    assert numbers[0] == numbers[1] == numbers[2]


def test_a_series_that_is_killed_in_its_second_trial_goes_on(tmp_path):
    whole = Brewer()
    expected = series(whole).run()
    brewer = Brewer()
    killed = series(brewer, out=tmp_path / "run")

    class Killed(BaseException):
        pass

    def die(played, steps):
        if len(killed.records) == 1 and played == 9:
            raise Killed

    killed.on_progress = die
    with pytest.raises(Killed):
        killed.run()
    again = resume_series(tmp_path / "run", env=STALL, seats=[Brewer(), "random"])
    assert len(again.records) == 1 and again.match.step >= 9
    kept = again.run()
    for one, other in zip(kept, expected, strict=True):
        assert np.array_equal(one.actions, other.actions)
    last = json.loads((trial_folder(tmp_path / "run", 2) / "manifest.json").read_text())
    assert last["finished"] and again.memories == {"0": whole.snapshot()}


def test_reveal_tells_the_hidden_number_to_everybody_and_the_record_says_so():
    seen = []

    async def reader(percept):
        seen.append(percept)
        return "stay"

    reader.skilled = False
    _, drawn = draw_hidden(STALL, STALL.params(), 3)
    for told in (False, True):
        rules = SeriesTerms(trials=2, reveal=told)
        played = Series(STALL, [reader, "random"], rules, seed=3, terms=Terms(steps=3))
        kept = played.run()
        assert kept[0].page.revealed == (("brewing",) if told else ())
        state = played.env.reset(random.key(0), played.params)
        told_all = played.env.observe(state, played.params).shared[1].tolist()
        names = [number.name for number in played.env.view_spec.shared]
        numbers = dict(zip(names, told_all, strict=True))
        assert ("brewing" in numbers) == told == bool(seen[-1].hidden)
        if told:
            assert numbers["brewing"] == drawn["brewing"] == seen[-1].hidden["brewing"]
            assert seen[-1].shared["brewing"] == drawn["brewing"]


class Counter:
    """A pure player that turns left until it has counted to five, over all trials."""

    def begin(self, key):
        return jnp.int32(0)

    def act(self, key, view, legal, memory):
        return jnp.where(memory < 5, 2, 1).astype(jnp.int32), memory + 1


def test_pure_players_carry_their_memory_if_asked(tmp_path):
    meadow = Meadow(players=2)
    for carry in (False, True):
        rules = SeriesTerms(trials=3, carry=carry)
        terms = Terms(steps=3)
        played = Series(meadow, [Counter(), "random"], rules, terms=terms)
        kept = played.run()
        done = [record.actions[:, 0].tolist() for record in kept]
        assert done == ([[2, 2, 2], [2, 2, 1], [1, 1, 1]] if carry else [[2, 2, 2]] * 3)
        assert [record.page.carried for record in kept] == [False, carry, carry]
    out = tmp_path / "run"
    left = Series(meadow, [Counter(), "random"], rules, terms=terms, out=out)
    left.on_progress = lambda played, steps: len(left.records) == 1 and left.stop()
    left.run()
    again = resume_series(out, env=meadow, seats=[Counter(), "random"])
    assert [record.actions[:, 0].tolist() for record in again.run()] == done


def test_only_worlds_with_hidden_numbers_reveal_them():
    with pytest.raises(MissingFacet, match="Hidden"):
        Series(Meadow(players=2), "random", SeriesTerms(trials=2, reveal=True))
    with pytest.raises(BadArgument, match="1 or more"):
        SeriesTerms(trials=0)
    kept = Series(Meadow(players=2), [Walker(), "random"], SeriesTerms(2), terms=Terms(steps=2))
    assert len(kept.run()) == 2


def test_trials_start_anew_and_differ():
    played = Series(Meadow(players=2), "random", SeriesTerms(2), terms=Terms(steps=12))
    one, other = played.run()
    assert not np.array_equal(one.actions, other.actions)
    assert one.page.marks[0] != other.page.marks[0]


def test_a_series_goes_on_with_as_many_players_as_it_had(tmp_path):
    world = "harvest_six_trees"
    env = catalogue.make(world, players=2)
    left = Series(env, "idle*2", SeriesTerms(2), terms=Terms(steps=2), out=tmp_path, world=world)
    left.on_progress = lambda played, steps: left.stop()
    left.run()
    again = resume_series(tmp_path)
    assert again.env.players == 2 and len(again.run()) == 2


def test_a_folder_is_one_series_and_one_process_plays_it(tmp_path):
    world, rules = "coins", SeriesTerms(2)
    env, terms = catalogue.make(world), Terms(steps=2)
    first = Series(env, "idle*2", rules, terms=terms, out=tmp_path, world=world)
    first.claim()
    beside = Series(env, "idle*2", rules, terms=terms, out=tmp_path, world=world)
    with pytest.raises(BadArgument, match="already holds a match"):
        beside.claim()
    with pytest.raises(FolderInUse):
        resume_series(tmp_path)
    assert len(first.run()) == 2
    assert len(resume_series(tmp_path).records) == 2


def test_a_series_goes_on_with_players_that_have_moved(tmp_path):
    """In the trial that was left, and in those to come."""
    world = "coins"
    env = catalogue.make(world)
    left = Series(
        env, "idle random", SeriesTerms(2), terms=Terms(steps=3), out=tmp_path, world=world
    )
    left.on_progress = lambda played, steps: left.stop()
    left.run()
    again = resume_series(tmp_path, elsewhere={0: "script:idle"})
    assert again.seats == "script:idle random"
    assert [record.page.seats[1] for record in again.run()] == ["random"] * 2
