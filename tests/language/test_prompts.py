"""Prompts: read well, hold what a percept holds, and keep their beginnings."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from jaxtyping import TypeCheckError

import sociarium
from sociarium.core.errors import BadArgument, CannotRead, MissingExtra, UnknownName
from sociarium.core.facets import ground_plan
from sociarium.core.percept import Percept, ShownWindow
from sociarium.language import phrases
from sociarium.language.attention import AttendAll, Nearest, Salience, attention
from sociarium.language.phrases import ENGLISH, Phrases
from sociarium.language.prompts import ORDER, PromptWriter, Stability, _plain_layout
from sociarium.language.renderings import STYLES, PerceptRenderer
from sociarium.language.sightings import Sighting
from sociarium.language.tokens import count_tokens, exact_counter
from tests.core.test_percept import filled
from tests.families import ARTICLES
from tests.language import scenes
from tests.toys.stall import Stall

every_scene = pytest.mark.parametrize("name", scenes.SCENES)
WORLDS = ("coins", "clean_up+contract+speech+pacts?drafts=2", "contract_easy", "harvest_open+open")


@every_scene
def test_the_texts_of_scenes_are_those_that_were_read_and_found_good(name):
    """After a change: `python -m tests.language.scenes`, and read the difference."""
    assert scenes.text(name) == (scenes.GOLDEN / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ARTICLES)
def test_every_article_is_told_as_it_was_read_and_found_good(name):
    stored = (scenes.GOLDEN / "articles" / f"{name}.txt").read_text()
    assert scenes.article_text(name) == stored


@every_scene
def test_the_json_style_reads_back_to_the_percept(name):
    env, seen = scenes.SCENES[name]()
    text = PromptWriter(env, style="json").write(seen).section("percept").text
    assert Percept.from_dict(json.loads(text)) == seen


@pytest.mark.parametrize("world", [*WORLDS, "stall"])
def test_any_percept_can_be_told_in_every_style(world):
    """Whatever codes are in view, with everything in the percept that there can be."""
    env = Stall(players=4) if world == "stall" else sociarium.make(world)
    for seed in range(5):
        seen = filled(env, np.random.default_rng(seed))
        for style in STYLES:
            prompt = PromptWriter(env, style=style, attention=AttendAll()).write(seen)
            assert all(section.text.strip() for section in prompt.sections)


# The phrase catalogue.


def wordless(form):
    """A phrase without its own letters: only its values keep theirs."""
    if not isinstance(form, str):
        return tuple(map(wordless, form))
    return "".join(
        part if part.startswith("{") else re.sub("[a-zA-Z]", "~", part)
        for part in re.split(r"(\{[a-z_]*\})", form)
    )


@every_scene
def test_no_sentence_is_built_outside_of_the_phrase_catalogue(name):
    """With phrases that have no letters, all that are left are those of declared words."""
    env, seen = scenes.SCENES[name]()
    locale = Phrases({key: wordless(form) for key, form in ENGLISH.items()})
    declared = declared_words(env, seen)
    for style in ("sentences", "relative", "table", "ascii"):
        prompt = PromptWriter(env, style=style, phrases=locale).write(seen)
        for section in prompt.sections:
            text = section.text.replace("\\n", " ")
            if style == "ascii":  # rows of a map are no words
                text = "\n".join(line for line in text.splitlines() if ": " in line)
            found = set(re.findall("[a-zA-Z]{2,}", text))
            assert found <= declared, f"{found - declared} in {section.name}"


def declared_words(env, seen):
    """All words that a world, a charter or a percept brings along."""
    spec, told = env.view_spec, [env.sheet.title, env.sheet.summary, *env.sheet.rules.values()]
    told += [text for action in env.actions for text in (action.name, action.sentence)]
    told += [code for plane in spec.planes for code in (plane.name, *plane.codes)]
    told += [one for number in spec.numbers for one in (number.name, *number.told)]
    if spec.social is not None:
        planes = (*spec.social.own, *spec.social.ties)
        told += [code for plane in planes for code in (plane.name, *plane.codes)]
    told += [json.dumps(seen.as_dict()).replace("\\n", " ")]
    told += env.sheet.law
    told += [text for facet in env.facets for text in getattr(facet, "terms", ())]
    told += [text for facet in env.facets for text in getattr(facet, "regions", ())]
    told += ["north east south west ahead right behind left row col steps"]
    return {word for text in told for word in re.findall("[a-zA-Z]{2,}", text.replace("_", " "))}


def test_every_phrase_is_used():
    """And no text asks for one that is missing, which the other tests would notice."""
    files = Path(phrases.__file__).parent.rglob("*.py")
    code = "".join(file.read_text() for file in files if file.name != "phrases.py")
    families = re.findall(r'f"([a-z]+\.(?:[a-z]+_)?)\{', code)
    unused = [
        key
        for key in ENGLISH
        if f'"{key}"' not in code
        and not any(key.startswith(family) for family in families)
        and not key.startswith(("list.", "play."))
    ]
    assert not unused


# Sections.


def test_sections_come_in_order_of_stability():
    order = [ORDER[name] for name in ORDER]
    assert order == sorted(order)
    env, seen = scenes.SCENES["harvest"]()
    prompt = PromptWriter(env, demonstrations=["Like this."]).write(seen, ["I owe Ana."])
    named = [section.name for section in prompt.sections]
    assert named == [name for name in ORDER if name in named]
    assert "I owe Ana." in prompt.section("memory").text


def common_tokens(one, other):
    """How many tokens two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return count_tokens(one[: next((n for n, (a, b) in pairs if a != b), len(one))])


def test_seats_of_one_world_share_the_beginning_and_one_seat_keeps_its_own():
    env = sociarium.make("clean_up?players=3")
    writer = PromptWriter(env, demonstrations=["Somebody cleaned, all ate."])
    at = {env.view_spec.ego_origin: (1, 0)}
    mine = writer.write(scenes.percept(env, 1, 7, at=at))
    later = writer.write(scenes.percept(env, 1, 8, own={"away": 3}))
    theirs = writer.write(scenes.percept(env, 2, 7))
    tokens = {section.name: section.tokens for section in mine.sections}
    shared = tokens["rules"] + tokens["demonstrations"]
    assert common_tokens(mine.text, theirs.text) >= shared
    assert common_tokens(mine.text, later.text) >= shared + tokens["persona"]
    for section in mine.sections:
        if section.stability <= Stability.SEAT:
            assert section.hash == later.section(section.name).hash
    assert mine.section("percept").hash != later.section("percept").hash


def test_rules_leave_out_how_they_differ_from_others():
    env = sociarium.make("harvest_open")
    text = PromptWriter(env).write(scenes.percept(env)).section("rules").text
    assert env.sheet.departures and not any(one in text for one in env.sheet.departures)


def test_templates_run_in_a_sandbox_and_name_nothing_unknown():
    env, seen = scenes.SCENES["coins"]()
    short = PromptWriter(env, template="{% for s in sections %}{{ s.name }} {% endfor %}")
    assert short.write(seen).text.split() == [s.name for s in short.write(seen).sections]
    nested = "{% for s in sections %}" * 40 + "{% endfor %}" * 40
    deep = "{{" + "not " * 5000 + "sections }}"
    wrong = ("{{ nobody }}", "{{ sections.__class__.__mro__ }}", "{% for", "{{ 1 / 0 }}")
    for bad in (*wrong, nested, deep):
        with pytest.raises(BadArgument, match="template"):
            str(PromptWriter(env, template=bad).write(seen))
    plain = PromptWriter(env).write(seen)
    assert plain.text == _plain_layout(plain.sections)


# Attention.


def test_attention_says_how_much_it_left_out():
    env, seen = scenes.SCENES["clean_up"]()
    everything = PerceptRenderer(env).reader.read(seen)
    few = Nearest(3).attend(everything, seen.events)
    assert len(few.sightings) + len(few.events) == 3 and few.more_things > 0
    assert AttendAll().attend(everything, seen.events).sightings == tuple(everything)


def test_no_kind_of_thing_crowds_out_another_or_a_player():
    """Ten apples cannot hide an attacker, nor a hundred of them the only coin."""
    env, seen = scenes.SCENES["mushrooms"]()
    everything = PerceptRenderer(env).reader.read(seen)
    told = Salience(things=4).attend(everything, ()).sightings
    assert {one.what for one in told} == {one.what for one in everything if one.sort == "thing"}


def test_no_place_is_called_bare_because_attention_left_something_out():
    env, seen = scenes.cuisine()
    told = {PerceptRenderer(env, attention=one).render(seen) for one in (AttendAll(), Salience(1))}
    assert len(told) == 1 and "At mixer 1: cooks here 1, cooked rice (1)" in told.pop()


@pytest.mark.parametrize("text", ["al", "nearest:0", "nearest:x", "all:3", "salience:-1", ""])
def test_attention_that_is_none_is_refused(text):
    with pytest.raises(BadArgument, match="nearest:10"):
        attention(text)


def test_attention_is_chosen_by_a_word():
    assert attention("nearest") == Nearest(10)
    assert attention("salience:5") == Salience(5) and attention("all") == AttendAll()


def test_an_unknown_style_is_refused():
    env, _ = scenes.SCENES["coins"]()
    with pytest.raises((UnknownName, TypeCheckError)):  # types are checked in tests only
        PerceptRenderer(env, "poetry")


# Where things are.


def told_cells(text):
    """All cells that a place in words means."""
    found = set()
    for part in text.split(" and "):
        ends = [tuple(map(int, pair)) for pair in re.findall(r"\[(-?\d+), (-?\d+)\]", part)]
        (row, col), (last_row, last_col) = ends[0], ends[-1]
        found |= {(r, c) for r in range(row, last_row + 1) for c in range(col, last_col + 1)}
    return found


@pytest.mark.parametrize("heading", range(4))
@pytest.mark.parametrize("world", ["frontier_easy", "harvest_open"])
def test_cells_of_the_map_are_told_right_also_across_its_edge(world, heading):
    env = sociarium.make(world)
    rows, cols = ground_plan(env).shape
    writer = PromptWriter(env)
    for cell in (0, cols - 1, (rows - 1) * cols + 1):
        seen = filled(env, np.random.default_rng(heading), cell=cell, heading=heading)
        where = writer.renderer.whereabouts(seen)
        for one in writer.renderer.reader.read(seen):
            meant = {where.cell(*place) for place in one.each_cell}
            assert told_cells(where.words(one, listed=True)) == meant


@pytest.mark.parametrize("turned", range(4))
def test_what_others_show_is_told_from_where_one_is_oneself(turned):
    """A thing on the cell ahead of who shows it, which stands 3 ahead and 2 to the right."""
    env = sociarium.make("clean_up+structure")
    row, col = home = env.view_spec.ego_origin
    window = ShownWindow(seat=0, name="Ana", ahead=3, right=2, turned=turned, view={})
    seen = Sighting("apple", "thing", row - 1, col, row - 1, col, 1).shown_by(window, home)
    beside = ((1, 0), (0, 1), (-1, 0), (0, -1))[turned]
    assert (seen.row, seen.col) == (row - 3 - beside[0], col + 2 + beside[1])
    behind = Sighting("", "player", row, col - 2, row, col, 1, heading=3).shown_by(window, home)
    assert behind.heading == (3 + turned) % 4 and behind.cells == 3


def test_crowds_share_a_mark_on_the_map_and_all_are_named():
    env = sociarium.make("harvest_open", players=16)
    at = {env.view_spec.ego_origin: (1, 0), (2, 2): (11, 0), (3, 3): (13, 0)}
    seen = scenes.percept(env, at=at)
    text = PromptWriter(env, style="ascii").write(seen).section("percept").text
    assert "& player 13 and player 11" in text or "& player 11 and player 13" in text


# Cost.


TIMED = """
import time
from sociarium.language.renderings import PerceptRenderer
from tests.families import ARTICLES
from tests.language import scenes
env, seen = scenes.harvest()
renderer, spent = PerceptRenderer(env), []
for _ in range(200):
    began = time.perf_counter()
    renderer.render(seen)
    spent.append(time.perf_counter() - began)
print(min(spent))
"""


def test_a_percept_of_harvest_is_told_within_a_millisecond():
    """Where types are not checked, as they are in this process."""
    told = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True)
    assert float(told.stdout) < 1e-3


def test_the_token_count_is_never_far_below_that_of_a_real_tokenizer():
    """Where texts have changed: `python benchmarks/token_counts.py FILE.gguf`."""
    stored = json.loads((scenes.GOLDEN.parent / "tokens.json").read_text())
    for name, text in scenes.token_texts().items():
        assert stored[name]["hash"] == hashlib.sha256(text.encode()).hexdigest()[:16], name
        assert 0.95 * stored[name]["tokens"] <= count_tokens(text) <= 1.2 * stored[name]["tokens"]


@pytest.mark.parametrize(("world", "most"), [("harvest_open", 400), ("contract_hard", 900)])
def test_a_percept_is_short_with_the_default_attention(world, most):
    """Even where something else lies on every cell and everything happens at once."""
    env = sociarium.make(world)
    tokens = []
    for seed in range(5):
        seen = filled(env, np.random.default_rng(seed), messages=(), chosen=(), hidden=None)
        tokens.append(PromptWriter(env).write(seen).section("percept").tokens)
    assert max(tokens) <= most


def test_a_tokenizer_of_ones_own_counts_exactly(monkeypatch, tmp_path):
    """Read by `tokenizers`, which need not be there; here something else stands in for it."""
    env, seen = scenes.coins()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"\[tokens\]"):
        exact_counter(tmp_path / "tokenizer.json")

    class Tokenizer:
        @classmethod
        def from_file(cls, file):
            if not Path(file).exists():
                raise Exception("No such file")
            return cls()

        def encode(self, text, add_special_tokens):
            return SimpleNamespace(ids=text.split())

    monkeypatch.setitem(sys.modules, "tokenizers", SimpleNamespace(Tokenizer=Tokenizer))
    with pytest.raises(CannotRead, match="is no tokenizer"):
        exact_counter(tmp_path / "nowhere.json")
    (tmp_path / "tokenizer.json").write_text("{}")
    writer = PromptWriter(env, count=exact_counter(tmp_path / "tokenizer.json"))
    for section in writer.write(seen).sections:
        assert section.tokens == len(section.text.split())
