"""Comprehension probes: true, balanced, and answered by whoever reads the text."""

import functools
import json
import random
import re
from collections import Counter, defaultdict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sociarium
from sociarium.core.decision import BadAnswer
from sociarium.core.environment import View
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.events import table
from sociarium.core.facets import Board, Crafting, find_facet, ground_plan
from sociarium.core.percept import Percept
from sociarium.core.percept_builder import PerceptBuilder
from sociarium.language.attention import AttendAll
from sociarium.language.models.probe_form import ProbeForm
from sociarium.language.phrases import ENGLISH, Phrases
from sociarium.language.probes import (
    TEMPLATES,
    Probe,
    ProbeQuery,
    ProbeWriter,
    draw_probes,
)
from sociarium.language.prompts import PromptWriter
from sociarium.players.planning.map_memory import MapTracker
from sociarium.players.planning.offers import MapReader
from tests.language import scenes
from tests.language.test_prompts import declared_words, wordless
from tests.toys.stall import Stall

READ = ("harvest_open+contract", "clean_up+contract")  # worlds whose texts are read below
STARTED = ("pd_arena+negotiation", "gift_refinement+structure", "contract_hard")  # seen at starts
WORLDS = (*READ, "coins+open", *STARTED, "stall")
EPISODES, STEPS, LOOKS = 2, 40, (1, 9, 22, 39)
WORDS = ("Meet me at the river.", "I will not zap.", "Join group 0.", "Who has apples?", "No.")
ASKED = 1000
UNKNOWN = ENGLISH["probe.unknown"]


class Stage:
    """An environment, what writes about it, and percepts of random play or of starts."""

    def __init__(self, name):
        self.started = name in STARTED
        self.env = Stall(players=4) if name == "stall" else sociarium.make(name)
        self.writer = ProbeWriter(self.env)
        self.plan = ground_plan(self.env)
        self.tracker = MapTracker(self.env) if name in READ else None
        self.percepts = [*self.looks()]

    def played(self):
        """Views, legal actions, poses, knowledge, maps and events of some episodes."""
        env, params, crafting = self.env, self.env.params(), find_facet(self.env, Crafting)

        def look(state, maps, number):
            view, pose = env.observe(state, params), self.plan.poses(state)
            if self.tracker is not None:
                bare = View(view.cells, view.own, view.shared)
                maps = jax.vmap(self.tracker.looked, (0, 0, 0, 0, None))(maps, bare, *pose, number)
            knows = () if crafting is None else crafting.knows(state)
            return view, env.legal(state, params), pose, knows, maps

        def step(carry, number):
            state, key, maps = carry
            key, k_act, k_step = jax.random.split(key, 3)
            shown = look(state, maps, number)
            actions = jax.random.categorical(k_act, jnp.where(shown[1], 0.0, -1e9))
            state, transition = env.step(k_step, state, actions, params)
            return (state, key, shown[-1]), (shown, transition.events)

        def episode(key):
            k_reset, k_play = jax.random.split(key)
            state, maps = env.reset(k_reset, params), ()
            if self.tracker is not None:
                maps = jax.vmap(lambda _: self.tracker.unknown())(jnp.arange(env.players))
            return jax.lax.scan(step, (state, k_play, maps), jnp.arange(STEPS))[1]

        def starts(key):
            keys = jax.random.split(key, STEPS)
            return jax.vmap(lambda one: look(env.reset(one, params), (), 0))(keys), None

        keys = jnp.stack([sociarium.key(seed) for seed in range(EPISODES)])
        return jax.device_get(jax.jit(jax.vmap(starts if self.started else episode))(keys))

    def looks(self):
        """Percepts of every seat: half of the players are told where they are, and keep maps."""
        shown, events = self.played()
        plain = PerceptBuilder(self.env, knowledge="discovered")
        told = PerceptBuilder(self.env, knowledge="discovered", privileged=("pose", "score"))
        rng, cols = random.Random(0), self.plan.shape[1]
        for number in range(EPISODES):
            happened = at(events, number)
            rows = [] if self.started else table(happened, self.env.event_specs, cols)
            for step in LOOKS:
                for seat in range(self.env.players):
                    view, legal, (cell, heading), knows, maps = at(shown, number, step)
                    located = (seat + number) % 2 == 0 and self.env.has(Board)
                    builder = told if located else plain
                    pose = int(cell[seat]), int(heading[seat])
                    lately = [row for row in rows if step - 3 <= row.step < step]
                    yield builder.build(
                        seat,
                        step,
                        self.varied(rng, at(view, seat)),
                        legal[seat],
                        events=builder.visible(lately, seat, *pose),
                        messages=self.messages(builder, rng, seat, step),
                        chosen=self.chosen(builder, rng, seat),
                        cell=pose[0],
                        heading=pose[1],
                        score=float(rng.randrange(6)),
                        knows=rng.choice((True, False)) ^ (np.arange(len(knows[seat])) % 2 > 0)
                        if len(knows)
                        else None,
                        map=MapReader(self.tracker).read(seat, at(maps, seat))
                        if located and self.tracker is not None
                        else None,
                        hidden={"brewing": rng.choice((2, 3, 5))}
                        if rng.random() < 0.5 and isinstance(self.env, Stall)
                        else None,
                    )

    def varied(self, rng, view):
        """The view with other numbers of goods, and at times other ground under the player."""
        spec, cells = self.env.view_spec, np.array(view.cells)
        for plane in spec.with_role("goods"):
            cells[plane] *= rng.randrange(1, 9) if self.env.has(Board) else 1
        (row, col), here = spec.ego_origin, spec.with_role("ground")
        if here and cells[here[0], row, col] and rng.random() < 0.5:
            ground = spec.planes[here[0]]
            free = [code for code, name in enumerate(ground.codes) if name not in ground.solid]
            cells[here[0], row, col] = rng.choice(free)
        return eqx.tree_at(lambda one: one.cells, view, cells)

    def messages(self, builder, rng, seat, step):
        others = [other for other in range(self.env.players) if other != seat]
        heard = rng.sample(others, min(2, len(others)))
        return [
            builder.heard(step - 1, other, rng.choice((-1, seat)), rng.choice(WORDS))
            for other in heard
        ]

    def chosen(self, builder, rng, seat):
        actions = [action.name for action in self.env.actions[:6]]
        first = [other for other in range(self.env.players) if other != seat][:2]
        return [builder.choice(other, rng.choice(actions)) for other in first] * rng.randrange(2)


def at(tree, *where):
    return jax.tree.map(lambda x: x[where], tree)


@functools.cache
def stage(name):
    return Stage(name)


@functools.cache
def sources(names=WORLDS):
    return [(stage(name).writer, percept) for name in names for percept in stage(name).percepts]


@functools.cache
def probes(names=WORLDS):
    return draw_probes(sources(names), ASKED, seed=0)


# Truth.


def test_every_template_can_be_asked_in_these_worlds():
    assert len(probes()) == ASKED and len(TEMPLATES) >= 20
    assert {probe.template for probe in probes()} == {*TEMPLATES}
    assert len({probe.world for probe in probes()}) == len(WORLDS) >= 6
    charters = {"none", "contract", "open", "negotiation", "structure", "built in"}
    assert {probe.charter for probe in probes()} == charters


def test_an_oracle_that_reads_the_percept_answers_everything():
    """From its JSON, with a writer that has never seen it."""
    writers = {
        stage(name).percepts[0].world: ProbeWriter(stage(name).env, phrases=Phrases({**ENGLISH}))
        for name in WORLDS
    }
    read = functools.cache(
        lambda number: Percept.from_dict(json.loads(json.dumps(sources()[number][1].as_dict())))
    )
    right = [
        writers[read(probe.percept).world].oracle(read(probe.percept), probe) == probe.answer
        for probe in probes()
    ]
    assert all(right)


SCENES = {  # answers that were found by looking at the drawings
    "harvest": {
        ("how_many", "apple"): "4",
        ("any_in_view", "wall"): "yes",
        ("nearest_thing",): "apple",
        ("thing_direction", "apple"): None,  # two are equally near
        ("thing_direction", "wall"): "ahead and left",
        ("thing_distance", "apple"): "8",
        ("thing_distance", "wall"): "11",
        ("players_in_view",): "2",
        ("nearest_player",): "Eli",
        ("player_direction", "Ana"): "ahead and left",
        ("player_direction", "Cem"): "it cannot be known",
        ("player_distance", "Ana"): "6",
        ("player_facing", "Eli"): "facing right",
        ("player_facing", "Ana"): "facing the opposite way",
        ("own_cell",): "at [10, 5]",
        ("own_heading",): "east",
        ("own_number", "cooldown", "you"): "2",
        ("own_number", "away", "Cem"): "it cannot be known",
        ("cell_ground", "at [10, 9]"): None,  # bare
        ("possible", "zap"): "no",
        ("possible", "forward"): "yes",
        ("event_actor", "6", "... zapped Eli"): "Ana",
        ("event_noticed", "Cem zapped Eli"): "no",
        ("explored",): "10%",
        ("last_seen", "Dora"): "[5, 6]",
        ("last_seen", "Fay"): "it cannot be known",
        ("standing_on",): "grass",
    },
    "clean_up": {
        ("how_many", "waste"): "5",
        ("how_many", "apple"): "1",
        ("nearest_thing",): "orchard",
        ("thing_direction", "river"): "ahead and left",
        ("thing_direction", "apple"): "ahead and right",
        ("player_facing", "Cem"): "facing your way",
        ("player_in_view", "Ana"): "no",
        ("score", "you"): "3",
        ("score", "Ana"): "it cannot be known",
        ("own_cell",): "it cannot be known",
        ("cell_ground", "6 ahead and 4 right"): "apple",
        ("message_text", "Ana", "you"): 'say "yes"',
        ("message_text", "Ana", "Cem"): "it cannot be known",
        ("message_writer", 'say "yes"'): "Ana",
        ("event_step", "Cem cleaned 2 cells"): "6",
        ("blocked", "left"): "no",
    },
}


@pytest.mark.parametrize("name", SCENES)
def test_truth_is_what_one_sees_in_a_drawing(name):
    env, percept = scenes.SCENES[name]()
    asked = ProbeWriter(env).ask(percept)
    for (template, *arguments), answer in SCENES[name].items():
        right = asked.get(ProbeQuery(template, tuple(arguments)))
        assert right == (None if answer is None else (answer,)), (template, arguments)


def test_what_is_beyond_the_window_or_was_never_told_cannot_be_known():
    env, percept = scenes.SCENES["harvest"]()
    asked = ProbeWriter(env, ["cell_ground"]).ask(percept)
    unknown = [query.arguments[0] for query, right in asked.items() if "cannot" in right[0]]
    spec, (row, col) = env.view_spec, env.view_spec.ego_origin
    for where in unknown:  # it faces east at [10, 5]
        south, east = (int(x) for x in re.findall(r"\d+", where))
        ahead, right = east - 5, south - 10
        assert not (0 <= row - ahead < spec.rows and 0 <= col + right < spec.cols), where
        assert percept.map.seen[south][east] < 0
    assert unknown


# Balance.


def beyond_chance(asked, chosen):
    """By how many standard errors somebody does better than chance."""
    right = sum(chosen(probe) == probe.options[probe.answer] for probe in asked)
    chances = np.array([probe.chance for probe in asked])
    return (right - chances.sum()) / np.sqrt((chances * (1 - chances)).sum())


def commonest(asked):
    """Picks a template's commonest answer where it is offered, else the first option."""
    answers = defaultdict(Counter)
    for probe in asked:
        answers[probe.template][probe.options[probe.answer]] += 1
    best = {template: counts.most_common(1)[0][0] for template, counts in answers.items()}
    return lambda probe: (
        best[probe.template] if best[probe.template] in probe.options else probe.options[0]
    )


def best_of_options(asked):
    """Picks the option that is right most often, of all that a world and a template offer."""
    right, offered = Counter(), Counter()
    for probe in asked:
        about = probe.world, probe.template
        right[*about, probe.options[probe.answer]] += 1
        offered.update((*about, option) for option in probe.options)

    def share(probe, option):
        about = probe.world, probe.template, option
        return right[about] / max(offered[about], 1)

    return lambda probe: max(probe.options, key=lambda option: share(probe, option))


STRATEGIES = {
    "the commonest answer": commonest,
    "the option that is right most often": best_of_options,
    "the shortest option": lambda _: lambda probe: min(probe.options, key=len),
    "the longest option": lambda _: lambda probe: max(probe.options, key=len),
    "the middle option": lambda _: lambda probe: sorted(probe.options)[len(probe.options) // 2],
    "that it cannot be known": lambda _: (
        lambda probe: UNKNOWN if UNKNOWN in probe.options else probe.options[0]
    ),
    "that it can be known": lambda _: (
        lambda probe: next(option for option in probe.options if option != UNKNOWN)
    ),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_who_has_not_read_the_percept_does_no_better_than_chance(strategy):
    asked = probes()
    assert len(asked) == ASKED
    assert beyond_chance(asked, STRATEGIES[strategy](asked)) <= 3


def test_the_right_option_is_anywhere():
    for many in {len(probe.options) for probe in probes()}:
        places = Counter(probe.answer for probe in probes() if len(probe.options) == many)
        asked = places.total()
        assert max(places.values()) - asked / many <= 3 * np.sqrt(asked * (1 - 1 / many) / many)


def test_what_cannot_be_known_is_an_option_that_is_right_and_wrong():
    offered = [probe for probe in probes() if UNKNOWN in probe.options]
    right = [probe for probe in offered if not probe.visible]
    assert {probe.options[probe.answer] for probe in right} == {UNKNOWN}
    assert len(offered) > 150 and 0.2 < len(right) / len(offered) < 0.4
    assert all(probe.options[probe.answer] != UNKNOWN for probe in probes() if probe.visible)
    assert len({probe.template for probe in right}) >= 8


def test_a_seed_draws_the_same_probes_and_asks_nothing_twice():
    names = WORLDS[-1:]
    once, again, other = (draw_probes(sources(names), 200, seed) for seed in (3, 3, 4))
    assert once == again != other
    asked = [(probe.percept, probe.query) for probe in once]
    assert len({*asked}) == len(asked) == 200
    assert all(len({*probe.options}) == len(probe.options) <= 4 for probe in once)


def test_there_are_no_more_probes_than_percepts_give():
    few = draw_probes(sources(WORLDS[-1:])[:3], 10_000, 0)
    assert 0 < len(few) < 10_000
    assert draw_probes([], 10, 0) == []
    assert beyond_chance(few, commonest(few)) <= 3


# Words.


def test_questions_are_made_of_phrases_and_declared_words():
    locale = Phrases({key: wordless(form) for key, form in ENGLISH.items()})
    for name in WORLDS:
        writer = ProbeWriter(stage(name).env, phrases=locale)
        percept = stage(name).percepts[-1]
        declared = declared_words(stage(name).env, percept) | {"brewing"}
        for query in writer.ask(percept):
            found = set(re.findall("[a-zA-Z]{2,}", writer.text(percept, query)))
            assert found <= declared, query


def test_a_probe_is_a_question_and_options_with_letters():
    probe = Probe(
        ProbeQuery("step", ()), "coins-v0", "none", 0, "Which step is it?", ("4", "7"), 1, True
    )
    first, question, *options = probe.lines()
    assert question == "Which step is it?" and options == ["A. 4", "B. 7"]
    assert first and probe.chance == 0.5 and probe.template == "step"


@pytest.mark.parametrize("said", ["B", " b", "B.", "(B) 7", "B) 7 of them", "7", 7])
def test_an_answer_is_the_letter_or_the_text_of_an_option(said):
    assert ProbeForm(("4", "7")).read({"choice": said}) == 1


@pytest.mark.parametrize("said", ["C", "", "Be careful", "AB", 2, None, True, ["A"]])
def test_an_answer_that_names_no_option_is_refused(said):
    with pytest.raises(BadAnswer, match="the options are A, B"):
        ProbeForm(("4", "7")).read({"choice": said})


def test_a_small_number_of_questions_leaves_no_template_out():
    some = sources(WORLDS[-1:])[:4]
    every = {probe.template for probe in draw_probes(some, 10_000, 0)}
    asked = {probe.template for seed in range(60) for probe in draw_probes(some, 8, seed)}
    assert asked == every and len(every) == 9


def test_what_cannot_be_asked_is_refused():
    env, percept = scenes.SCENES["harvest"]()
    with pytest.raises(UnknownName, match="how_many"):
        ProbeWriter(env, ["how_mny"])
    with pytest.raises(BadArgument, match="unicorn"):
        ProbeWriter(env).answers(percept, ProbeQuery("how_many", ("unicorn",)))


def test_who_is_out_of_play_sees_nothing_and_is_asked_all_the_same():
    env = sociarium.make("harvest_open")
    percept = scenes.percept(env, planes={"ground": ([" " * 11] * 11, {" ": 0})})
    asked = ProbeWriter(env).ask(percept)
    answers = {query.template: right for query, right in asked.items()}
    assert answers["players_in_view"] == ("0",) and answers["any_in_view"] == ("no",)
    assert not {"standing_on", "blocked", "cell_ground", "nearest_thing"} & {*answers}


# The text holds what is visible.


OTHERS = r"The other players are (.*)\."


class TextReader:
    """Answers by the text of sentences alone; cells are (ahead, right) of the player."""

    def __init__(self, text):
        self.text, self.step = text, re.search(r"Step (\d+)\.", text)[1]
        self.pose = re.search(r"You are at (\[.*?\]) and face (\w+)\.", text)
        self.things, self.players = defaultdict(set), {}
        now = text.partition("## Now")[2]
        for what, where in re.findall(
            r"^You see (\D+?) (?:in \d+ places: )?((?:at|on|from|\[|\d).*)\.$", now, re.M
        ):
            for place in where.split("; "):
                self.things[what] |= self.cells(place)
        for name, where, facing in re.findall(
            r"^(player \d+) is (.*?)(?:, (facing .*))?\.$", text, re.M
        ):
            self.players[name] = (*self.cells(where), facing, where)
        self.ties = {who: [] for who in ["you", *re.findall(r"player \d+", self.said(OTHERS))]}
        for names, ties in re.findall(r"^((?:you|player \d+).*?): (.*)\.$", text, re.M):
            self.ties |= dict.fromkeys(names.split(", "), ties.split(", "))
        self.actions = re.findall(r"^\d+\. (.*)$", text, re.M)
        self.events = [
            (event, step)
            for step, events in re.findall(r"^- step (\d+): (.*)$", text, re.M)
            for event in events.split("; ")
        ]
        self.messages = re.findall(r'^- step \d+, (.*?) to (\w+): "(.*)"$', text, re.M)

    def cells(self, place):
        """All cells of a phrase such as `2 left, from 3 ahead to level with you`."""
        found = re.findall(r"\[(-?\d+), (-?\d+)\]", place)
        if found:
            ends = [self.turned(int(row), int(col)) for row, col in found]
        else:
            same, _, run = place.rpartition("from ")
            ends = [self.moved(same + end) for end in run.split(" to ")]
        (up, right), (last_up, last_right) = ends[0], ends[-1]
        ups = range(min(up, last_up), max(up, last_up) + 1)
        rights = range(min(right, last_right), max(right, last_right) + 1)
        return {(up, right) for up in ups for right in rights}

    def moved(self, words):
        steps = Counter({side: int(n) for n, side in re.findall(r"(\d+) (\w+)", words)})
        return steps["ahead"] - steps["behind"], steps["right"] - steps["left"]

    def turned(self, row, col):
        own = [int(x) for x in re.findall(r"\d+", self.pose[1])]
        down, east = row - own[0], col - own[1]
        turns = {"north": (-down, east), "east": (east, down), "south": (down, -east)}
        return turns.get(self.pose[2], (-east, -down))

    def direction(self, cell):
        sides = ["ahead" if cell[0] > 0 else "behind"] * (cell[0] != 0)
        sides += ["right" if cell[1] > 0 else "left"] * (cell[1] != 0)
        return " and ".join(sides) or "on your cell"

    def far(self, cells):
        return min((abs(up) + abs(right) for up, right in cells), default=99)

    def nearest(self, cells):
        return [cell for cell in cells if self.far([cell]) == self.far(cells)]

    def said(self, pattern):
        found = re.search(pattern, self.text, re.M)
        return found[1] if found else None

    def tie(self, who):
        return next((tie for tie in self.ties.get(who, ()) if tie.startswith("group")), "none")

    def holders(self, tie, value):
        return [who for who in self.ties if self.tie(who) == value]

    def own_number(self, number, who):
        return self.said(rf"^Your numbers: .*?\b{number} (\d+)") or "0" if who == "you" else None

    def answer(self, probe):
        """The number of an option; the first where the text does not help."""
        found = BY_TEXT[probe.template](self, *probe.query.arguments)
        right = found if isinstance(found, list) else [str(found)]
        return next((probe.options.index(one) for one in right if one in probe.options), 0)

    def nearest_thing(self):
        return sorted(self.things, key=lambda what: self.far(self.things[what]))

    def nearest_player(self):
        return min(self.players, key=lambda name: self.far([self.players[name][0]]))

    def blocked(self, side):
        near = {"ahead": (1, 0), "behind": (-1, 0), "right": (0, 1), "left": (0, -1)}[side]
        return "yes" if near in self.things["wall"] else "no"

    def cell_ground(self, where):
        return [what for what, cells in self.things.items() if self.cells(where) <= cells]

    def which_impossible(self):
        rules = self.text.partition("Actions:\n")[2].partition("\n\n")[0]
        return [one for one in re.findall(r"^- (.*?):", rules, re.M) if one not in self.actions]

    def event_actor(self, step, event):
        pattern = re.escape(event).replace(r"\.\.\.", r"(player \d+)")
        found = [re.fullmatch(pattern, told) for told, when in self.events if when == step]
        return [one[1] for one in found if one]

    def message_text(self, name, whom):
        return [text for who, to, text in self.messages if (who, to) == (name, whom)][-1]

    def last_seen(self, name):
        seen = self.said(rf"You last saw {name} .*? at (\[.*\])\.")
        return seen or self.players[name][2].removeprefix("at ")


BY_TEXT = {  # what a reader answers
    "own_number": TextReader.own_number,
    "step": lambda text: text.step,
    "how_many": lambda text, what: len(text.things[what]),
    "any_in_view": lambda text, what: "yes" if text.things[what] else "no",
    "thing_direction": lambda text, what: text.direction(text.nearest(text.things[what])[0]),
    "thing_distance": lambda text, what: text.far(text.things[what]),
    "standing_on": lambda text: text.said(r"You stand on (.*?)\."),
    "players_in_view": lambda text: len(text.players),
    "player_in_view": lambda text, name: "yes" if name in text.players else "no",
    "player_direction": lambda text, name: text.direction(text.players[name][0]),
    "player_distance": lambda text, name: text.far([text.players[name][0]]),
    "player_facing": lambda text, name: text.players[name][1],
    "own_cell": lambda text: f"at {text.pose[1]}",
    "own_heading": lambda text: text.pose[2],
    "score": lambda text, who: text.said(r"Your points so far: (\d+)\."),
    "own_standing": lambda text, name: text.said(rf"\b{name}: (\w+)[;.]"),
    "tie_of": lambda text, tie, who: text.tie(who),
    "same_tie": lambda text, tie, who: "yes" if text.tie(who) == text.tie("you") else "no",
    "who_tied": TextReader.holders,
    "how_many_tied": lambda text, *tie: len(text.holders(*tie)),
    "possible": lambda text, action: "yes" if action in text.actions else "no",
    "which_possible": lambda text: text.actions,
    "event_step": lambda text, event: dict(text.events)[event],
    "event_noticed": lambda text, event: "yes" if event in dict(text.events) else "no",
    "message_writer": lambda text, what: [one[0] for one in text.messages if one[2] == what],
    "chosen": lambda text, name: text.said(rf"{name} has already chosen: (.*)\."),
    "explored": lambda text: text.said(r"You have seen (\d+%) of the map"),
    "nearest_thing": TextReader.nearest_thing,
    "nearest_player": TextReader.nearest_player,
    "blocked": TextReader.blocked,
    "cell_ground": TextReader.cell_ground,
    "which_impossible": TextReader.which_impossible,
    "event_actor": TextReader.event_actor,
    "message_text": TextReader.message_text,
    "last_seen": TextReader.last_seen,
}


def test_whoever_reads_the_sentences_can_answer_what_is_visible():
    """In two worlds under one charter, without knowing either."""
    asked = [probe for probe in probes(READ) if probe.visible]
    readers = {
        number: TextReader(prompts(percept.world).write(percept).text)
        for number, (_, percept) in enumerate(sources(READ))
    }
    results = Counter(), Counter()
    for probe in asked:
        right = readers[probe.percept].answer(probe) == probe.answer
        results[right][probe.template] += 1
    assert {probe.world for probe in asked} == {"harvest_open-v0", "clean_up-v0"}
    assert len({probe.template for probe in asked}) >= 30 and len(asked) > 600
    assert results[True].total() / len(asked) >= 0.95, results[False]


@functools.cache
def prompts(world):
    env = next(stage(name).env for name in READ if stage(name).percepts[0].world == world)
    return PromptWriter(env, attention=AttendAll())
