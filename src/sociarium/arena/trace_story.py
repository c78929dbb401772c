"""The trace of a run as a page tells it: each decision in words, and the map before every step."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from PIL import Image

from sociarium.arena.replay import Replay
from sociarium.arena.run_trace import RunTrace, TracedCall, TracedDecision
from sociarium.arena.screening import PlayedEpisode, label, screening
from sociarium.arena.trace_page import (
    PageSeat,
    TracePage,
    icon_uri,
    palette_of,
    picture_uri,
    visible,
)
from sociarium.core.errors import BadArgument
from sociarium.core.patches import TO_ALL
from sociarium.core.record import Record
from sociarium.language.models.repair import local_fixes
from sociarium.language.phrases import IN_ENGLISH
from sociarium.language.prompts import ORDER
from sociarium.language.spoken import spoken
from sociarium.views import bonds, legend, pixels
from sociarium.views.lettering import BACK
from sociarium.views.progress import OnProgress, silent

MOST_PICTURES = 400
MOST_STATES = 1 << 30  # bytes of states that are held to be drawn
WIDEST, TALLEST = 900, 1400  # pixels of a picture
SAMPLED = 12  # pictures that the colours are taken from
PICTURE_BYTES, TEXT_BYTES = 8_500_000, 4_500_000  # of a page
MOST_DECISIONS = 10_000
MOST_SHOWN = 32  # seats
MOST_ACTS = 400_000  # of all seats
LONGEST_TOLD = 1000  # characters of a thought or a reason
CHOOSING = ("act", "cheaper")  # roles of calls
_LINE = re.compile(r"^(\d{1,4})\. (.*)$", re.M)
_HEADINGS = {IN_ENGLISH("heading", title=IN_ENGLISH(f"heading.{name}")): name for name in ORDER}


# The map.


@dataclass(frozen=True)
class MapPictures:
    """Pictures of a match as data URIs, and which of them shows which step."""

    pictures: tuple[str, ...] = ()
    frames: tuple[tuple[int, int], ...] = ()


def picked_steps(first: int, last: int, decided: Sequence[int], most: int) -> list[int]:
    """At most so many steps: all, or those with decisions and others that are evenly spaced."""
    if last - first < most:
        return [*range(first, last + 1)]
    wanted = sorted({step for step in decided if first <= step <= last})
    even = _thinned(range(first, last + 1), max(most // 4, most - len(wanted)))
    return sorted({*even, *_thinned(wanted, most - len(even))})


def _thinned(steps: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly spaced, the first and the last among them."""
    if len(steps) <= most:
        return [*steps]
    places = np.linspace(0, len(steps) - 1, max(most, 2)).round().astype(int)
    return [steps[place] for place in sorted({*places.tolist()})]


def draw_map(
    replay: Replay, first: int, last: int, decided: Sequence[int], on_progress: OnProgress = silent
) -> MapPictures:
    """The map before some of these steps of an episode; nothing of an episode without steps."""
    total = len(replay.kept)
    if not total:
        return MapPictures()
    each = max(1, replay.weight(0, total) // 2)
    steps = picked_steps(first, last, decided, min(MOST_PICTURES, max(MOST_STATES // each, 2)))
    episode, _ = replay.episode(every=total)
    states = _states_at(replay, steps)
    sampled = _thinned(range(len(steps)), SAMPLED)
    some = jax.tree.map(lambda x: x[sampled], states)
    palette = palette_of([*_drawn(episode, some, [steps[place] for place in sampled])])
    uris = []
    for picture in _drawn(episode, states, steps):
        uris.append(picture_uri(picture, palette))
        on_progress(len(uris), len(steps))
    while (weight := sum(map(len, set(uris)))) > PICTURE_BYTES and len(uris) > 2:
        fitting = min(len(uris) - 1, len(uris) * PICTURE_BYTES // weight)
        places = _thinned(range(len(uris)), fitting)
        steps, uris = [steps[place] for place in places], [uris[place] for place in places]
    number = {uri: place for place, uri in enumerate(dict.fromkeys(uris))}
    frames = [(step, number[uri]) for step, uri in zip(steps, uris, strict=True)]
    return MapPictures(tuple(number), tuple(frames))


def _states_at(replay: Replay, steps: Sequence[int]) -> Any:
    """The states before these steps, with a leading time axis."""
    wanted, found, now = {*steps}, [], 0
    for states, _ in replay.parts():
        size = len(jax.tree.leaves(states)[0])
        chosen = [place for place in range(size) if now + place in wanted]
        found.append(jax.tree.map(lambda x, chosen=chosen: x[chosen], states))
        now += size
    return jax.tree.map(lambda *parts: np.concatenate(parts), *found)


def _drawn(episode: PlayedEpisode, states: Any, steps: Sequence[int]) -> Iterator[Image.Image]:
    """Pictures of these steps, with their numbers and a legend, none larger than a page."""
    names, signs = [label(seat) for seat in episode.seats], ()
    for scene, raw, left, gains in screening(episode, states, steps):
        signs = signs or legend.signs_of(scene, greyed=not episode.present.all())
        shape = scene.ground.shape
        size = max(pixels.LEAST, min(pixels.fitting(shape), WIDEST // max(shape)))
        told = {"scores": raw, "left": left, "gains": gains, "names": names, "signs": signs}
        picture = pixels.picture(replace(scene, bonds=None), size=size, **told)
        if scene.bonds is not None and bonds.shown(scene.bonds):
            picture = _stacked(picture, bonds.picture(scene.bonds))
        picture.thumbnail((WIDEST, TALLEST), Image.Resampling.BOX)
        yield picture


def _stacked(above: Image.Image, below: Image.Image) -> Image.Image:
    """Two pictures one above the other, since a page has less room beside the map."""
    width = max(above.width, below.width)
    image = Image.new("RGB", (width, above.height + below.height), BACK)
    for one, top in ((above, 0), (below, above.height)):
        image.paste(one, ((width - one.width) // 2, top))
    return image


# Decisions in words.


def became(
    choice: Mapping[str, Any], names: Mapping[int, str]
) -> tuple[str, list[tuple[str, str]]]:
    """What a decision is in a few words, and what it was given besides, as names and values."""
    headline = spoken(_said(choice.get("action") or choice.get("skill") or "stay"))
    details = []
    if "thing" in choice:
        headline += f" {spoken(_said(choice['thing']))}"
    if "player" in choice:
        headline += f" {_called(choice['player'], names)}"
    if "place" in choice:
        details.append(("place", _said(choice["place"])))
    if "steps" in choice:
        details.append(("steps", _said(choice["steps"])))
    writes: dict[str, Any] = {
        name: told if isinstance(told := choice.get(name), dict) else {}
        for name in ("say", "draft", "vote", "link")
    }
    if said := writes["say"]:
        whom = "all" if said.get("to", TO_ALL) == TO_ALL else _called(said["to"], names)
        details.append((f"says to {whom}", _said(said.get("text"))))
    if draft := writes["draft"]:
        details.append(("drafts", f"{_said(draft.get('what'))}, fine {_said(draft.get('fine'))}"))
    if "sign" in choice:
        details.append(("signs", f"clause {_said(choice['sign'])}"))
    if vote := writes["vote"]:
        what = "votes for" if vote.get("yes") is True else "votes against"
        details.append((what, f"clause {_said(vote.get('clause'))}"))
    if link := writes["link"]:
        shows = ", shows what it sees" if link.get("sight") is True else ""
        percent = f"{_said(link.get('percent', 0))}% of its points{shows}"
        details.append((f"ties itself to {_called(link.get('to'), names)}", percent))
    return headline, details


def _said(value: Any) -> str:
    """A value of a stranger's decision, in a few words."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]} ..."


def _called(seat: Any, names: Mapping[int, str]) -> str:
    return names.get(seat, f"player {seat}") if isinstance(seat, int) else _said(seat)


def chosen_line(
    menu: str, choice: Mapping[str, Any], answer: str, names: Mapping[int, str]
) -> int | None:
    """The number of the menu's line that a decision took; by what it is, else by the answer."""
    lines = {int(number): text for number, text in _LINE.findall(menu)}
    headline, _ = became(choice, names)
    found = [number for number, text in lines.items() if _is_line(headline, text)]
    if len(found) == 1:
        return found[0]
    for read in local_fixes(answer[:LONGEST_TOLD]):
        asked = str(read.get("choice", "")).strip()
        if asked.isascii() and asked.isdecimal() and len(asked) < 5:
            return int(asked) if int(asked) in lines else None
        found = [number for number, text in lines.items() if _is_line(spoken(asked), text)]
        if len(found) == 1:
            return found[0]
    return None


def _is_line(said: str, text: str) -> bool:
    """Whether a line says this, but for arguments in brackets and what it explains."""
    plain = re.split(r" [\[(]", text)[0]
    return said.lower() in (text.lower(), plain.lower())


def section_of(part: str) -> str:
    """What a part of a prompt is about, by its heading; empty where it has none."""
    return _HEADINGS.get(part.lstrip("\n")[:100].partition("\n")[0], "")


# The page.


class _Texts:
    """The texts of a page, each once by its number; `size` is how much room they take."""

    def __init__(self, trace: RunTrace) -> None:
        self.trace, self.shown, self.size = trace, dict[int, str](), 0

    def add(self, number: int) -> None:
        """Shows the text with this number."""
        if number not in self.shown:
            text = self.trace.text(number)
            shown = "(this text is missing)" if text is None else visible(text)
            self.shown[number] = shown
            self.size += len(json.dumps(shown)) + 1


def tell_page(
    trace: RunTrace,
    *,
    title: str,
    facts: Sequence[str] = (),
    kept: Record | None = None,
    actions: Sequence[str] = (),
    drawn: MapPictures | None = None,
    first: int = 0,
    last: int | None = None,
) -> TracePage:
    """The page of a run: what its trace tells, with what was played if it is known.

    `actions` are the names of the world's actions; only decisions from step `first` to `last` are
    told. What does not fit is left out, and a note says so.
    """
    decisions = [one for one in trace.decisions if first <= one.step and _until(one.step, last)]
    if not decisions:
        raise BadArgument(
            f"no model decided from step {first} on; it did at {trace.decisions[0].step} to "
            f"{trace.decisions[-1].step}"
        )
    if len(decisions) > MOST_DECISIONS:
        raise BadArgument(
            f"there are {len(decisions)} decisions, and a page shows at most {MOST_DECISIONS}; "
            f"choose steps with --first and --last, such as --last {decisions[MOST_DECISIONS].step}"
        )
    seats = sorted({one.seat for one in decisions})[:MOST_SHOWN]
    end = max([one.step for one in decisions] + ([] if kept is None else [len(kept)]))
    end = end if last is None else min(last, end)
    names = _names(decisions, kept)
    told, texts, every = _told([one for one in decisions if one.seat in seats], trace, names)
    notes = [
        f"{count} damaged rows of {name} were left out" for name, count in trace.damaged.items()
    ]
    if every > 1:
        notes.append(f"prompts are shown for one of {every} decisions; --first and --last show all")
    acting = kept is not None and len(seats) * (end - first) <= MOST_ACTS
    drawn = drawn or MapPictures()
    return TracePage(
        title=title,
        facts=tuple(facts),
        seats=tuple(_seat(seat, names, kept, (first, end) if acting else None) for seat in seats),
        decisions=tuple(told),
        texts=texts,
        first=first,
        last=end,
        pictures=drawn.pictures,
        frames=drawn.frames,
        actions=tuple(actions),
        notes=tuple(notes),
    )


def _until(step: int, last: int | None) -> bool:
    return last is None or step <= last


def _names(decisions: Sequence[TracedDecision], kept: Record | None) -> dict[int, str]:
    """What players are called, by seat."""
    names = {} if kept is None else dict(enumerate(kept.page.names))
    for one in decisions:
        if one.player:
            names.setdefault(one.seat, one.player)
    return names


def _seat(
    seat: int, names: Mapping[int, str], kept: Record | None, steps: tuple[int, int] | None
) -> PageSeat:
    there = kept is not None and seat < kept.page.players
    player = kept.page.seats[seat] if kept is not None and there else ""
    acts: tuple[int, ...] = ()
    if kept is not None and there and steps is not None:
        acts = tuple(kept.actions[steps[0] : steps[1], seat].tolist())
    return PageSeat(seat, names.get(seat, f"player {seat}"), player, icon_uri(seat), acts)


def _told(
    decisions: Sequence[TracedDecision], trace: RunTrace, names: Mapping[int, str]
) -> tuple[list[TracedDecision], dict[int, str], int]:
    """Decisions, their texts, and of how many decisions one has its texts."""
    every = 1
    while True:
        texts, found = _Texts(trace), []
        for place, one in enumerate(decisions):
            told = _decision(one, _Texts(trace) if place % every else texts, names)
            if place % every:
                calls = tuple(replace(call, messages=(), answer=None) for call in told.calls)
                told = replace(told, sections=(), left_out=True, calls=calls)
            found.append(told)
        if texts.size <= TEXT_BYTES or every > len(decisions):
            return found, texts.shown, every
        every *= 2


def _decision(one: TracedDecision, texts: _Texts, names: Mapping[int, str]) -> TracedDecision:
    """The decision with what a page adds, and its texts among those of the page."""
    headline, details, chosen = "", [], None
    sections = _sections(one, texts)
    if one.choice is not None:
        headline, details = became(one.choice, names)
        menu = texts.shown[dict(sections)["menu"]] if "menu" in dict(sections) else ""
        answer = (texts.trace.text(one.answered.answer) or "") if one.answered else ""
        chosen = chosen_line(menu, one.choice, answer, names)
    return replace(
        one,
        headline=headline,
        details=tuple(details),
        thought=one.thought[:LONGEST_TOLD],
        why=one.why[:LONGEST_TOLD],
        sections=sections,
        chosen=chosen,
        calls=tuple(_call(call, texts) for call in one.calls),
    )


def _sections(one: TracedDecision, texts: _Texts) -> tuple[tuple[str, int], ...]:
    """The parts of the first prompt that asked for a choice, by what they are about."""
    asked = [call for call in one.calls if call.role in CHOOSING] or [*one.calls]
    found: dict[str, int] = {}
    for _, parts in asked[0].messages if asked else ():
        for part in parts:
            name = section_of(texts.trace.text(part) or "")
            if name and name not in found:
                found[name] = part
                texts.add(part)
    return tuple(found.items())


def _call(call: TracedCall, texts: _Texts) -> TracedCall:
    for _, parts in call.messages:
        for part in parts:
            texts.add(part)
    if call.answer is not None:
        texts.add(call.answer)
    return replace(call, why=call.why[:LONGEST_TOLD])
