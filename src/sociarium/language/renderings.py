"""A percept in words, in one of several styles.

Sentences tell cells by the map where the player knows its place there; `relative` always tells them
from the player; `table` has a row for each thing; `ascii` is a map with a legend; `json` is the
percept itself.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from sociarium.core.actions import COMPASS, SIDES
from sociarium.core.environment import Environment
from sociarium.core.errors import UnknownName
from sociarium.core.facets import ground_plan
from sociarium.core.patches import TO_ALL
from sociarium.core.percept import Heard, Percept, Planes, ShownWindow
from sociarium.language.ascii_map import AsciiMap
from sociarium.language.attention import Attended, Attention, Salience
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.places import Reference, Whereabouts
from sociarium.language.sightings import Sighting, SightingReader
from sociarium.language.spoken import spoken

Style = Literal["sentences", "relative", "table", "ascii", "json"]
STYLES: tuple[Style, ...] = get_args(Style)
FEW_ZEROS = 4  # numbers that are 0 and told all the same
BESIDE = ((-1, 0), (0, 1), (1, 0), (0, -1))  # rows down and columns right, in the order of sides


class PerceptRenderer:
    """Puts the percepts of one environment's players into words."""

    def __init__(
        self,
        env: Environment[Any, Any],
        style: Style = "sentences",
        attention: Attention | None = None,
        phrases: Phrases = IN_ENGLISH,
    ) -> None:
        if style not in STYLES:
            raise UnknownName("style", style, STYLES)
        self.style, self.attention, self._say = style, attention or Salience(), phrases
        self.reader = SightingReader(env.view_spec)
        self._plan = ground_plan(env)
        self._regions = {cell: name for name, cells in self._plan.regions.items() for cell in cells}
        self._map = AsciiMap(env.view_spec, phrases)
        self._scenes: Mapping[str, Callable[..., list[str]]] = {
            "sentences": self._sentences,
            "relative": self._sentences,
            "table": self._table,
            "ascii": self._ascii,
        }

    def render(self, percept: Percept, mark: str = "") -> str:
        """The percept, without what other sections tell: rules, society, memory and menu.

        What others wrote stands between two of the `mark`, if one is given.
        """
        if self.style == "json":
            return json.dumps(percept.as_dict(), ensure_ascii=False, separators=(",", ":"))
        attended = self.attended(percept)
        lines = [*self._state(percept)]
        lines += self._scene(percept, percept.view, attended, percept.home)
        for window in percept.windows:
            lines += self._shown(percept, window)
        lines += self._happened(percept, attended, mark)
        return "\n".join(lines)

    def attended(self, percept: Percept) -> Attended:
        """What is told of what is in view; where there are places, all that is at them."""
        seen = self.reader.read(percept)
        if not percept.places:
            return self.attention.attend(seen, percept.events)
        there = tuple(_at_places(percept, seen))
        return replace(self.attention.attend((), percept.events), sightings=there)

    def whereabouts(self, percept: Percept, home: tuple[int, int] | None = None) -> Whereabouts:
        """Where things are in the window of a percept."""
        reference: Reference = "self" if self.style == "relative" else "map"
        home = self.home(percept) if home is None else home
        shape, wraps = self._plan.shape, self._plan.wraps
        return Whereabouts(percept, home, self._say, reference, self._regions, shape, wraps)

    def home(self, percept: Percept) -> tuple[int, int] | None:
        """Where the player itself is in its window."""
        return percept.home or self.reader.own_place(percept.view)

    def called(self, percept: Percept, seat: int) -> str:
        """What the player in a seat is called."""
        if 0 <= seat < len(percept.names):
            return percept.names[seat]
        return self._say("percept.somebody")

    def message(self, heard: Heard, mark: str = "") -> str:
        """What another player wrote: quoted, so that it is one line and nothing else.

        With a `mark` it stands between two of them.
        """
        key = "percept.message_all" if heard.to == TO_ALL else "percept.message_you"
        text = json.dumps(heard.text, ensure_ascii=False)
        return self._say(key, step=heard.step, name=heard.name, text=f"{mark}{text}{mark}")

    def listed(self, numbers: Mapping[str, object]) -> str:
        """Numbers with their names."""
        return self._say.commas(
            self._say("percept.number", name=spoken(name), value=value)
            for name, value in numbers.items()
        )

    # Parts of the text.

    def _state(self, percept: Percept) -> list[str]:
        """When, where and how one is."""
        say, lines = self._say, [self._say("percept.step", step=percept.step)]
        here = self.reader.own_place(percept.view)
        if percept.places and here is not None:
            lines[0] += " " + say("percept.place", place=percept.places[here[1]])
        elif percept.pose is not None and percept.pose.row is not None:
            pose = percept.pose
            cell = say("cell", row=pose.row, col=pose.col)
            lines[0] += " " + say("percept.pose", cell=cell, heading=pose.heading)
        elif percept.window == "fixed" and here is not None and self._plan.cells > 1:
            cell = say("cell", row=here[0], col=here[1])
            lines[0] += " " + say("percept.fixed", cell=cell)
        if here is not None:
            lines[0] += self._bearing(percept, *here)
        if percept.score is not None:
            lines[0] += " " + say("percept.score", score=f"{percept.score:g}")
        if percept.own:
            lines.append(self._numbers(percept.own))
        if percept.shared:
            lines.append(self._common(percept.shared))
        if percept.hidden:
            told = [
                say("percept.revealed", name=spoken(name), value=_number(value))
                for name, value in percept.hidden.items()
            ]
            lines.append(say("percept.hidden", numbers=say.all_of(told)))
        if percept.status:
            lines.append(say("percept.status", status=percept.status))
        return lines

    def _bearing(self, percept: Percept, row: int, col: int) -> str:
        """Where one faces and what one holds, where planes tell that."""
        faces, holds = (
            read(percept.view, row, col) for read in (self.reader.faces, self.reader.holds)
        )
        told = [self._say("percept.you_face", way=faces)] if faces and not percept.pose else []
        if self.reader.spec.with_role("hands"):
            told.append(
                self._say("percept.you_hold", what=spoken(holds) or self._say("percept.empty"))
            )
        return "".join(f" {text}" for text in told)

    def _common(self, shared: Mapping[str, int | float | str]) -> str:
        """What everybody sees; where many of the numbers are 0 or nothing, the others."""
        told = {name: x for name, x in shared.items() if x not in (0, "nothing", "none")}
        if len(shared) - len(told) <= FEW_ZEROS:
            return self._say("percept.shared", numbers=self.listed(shared))
        if not told:
            return self._say("percept.shared_none")
        return self._say("percept.shared_rest", numbers=self.listed(told))

    def _numbers(self, own: Mapping[str, int | float | str]) -> str:
        """One's own numbers, those that are not 0 by name."""
        zeros = [name for name, value in own.items() if value == 0]
        if len(zeros) == len(own):
            return self._say("percept.own_none", names=self._say.commas(map(spoken, own)))
        if len(zeros) <= FEW_ZEROS:
            return self._say("percept.own", numbers=self.listed(own))
        told = {name: value for name, value in own.items() if value != 0}
        return self._say("percept.own_rest", numbers=self.listed(told))

    def _scene(
        self,
        percept: Percept,
        view: Planes,
        attended: Attended,
        home: tuple[int, int] | None,
    ) -> list[str]:
        say = self._say
        here = self.reader.own_place(view) if home is None else home
        if self._sees_nothing(view):
            return [say("percept.out")]
        lines = []
        if here is not None and not percept.places and (text := self._standing(view, here)):
            lines.append(text)
        lines += self._scenes[self.style](percept, view, attended, here)
        if attended.more_things and self.style != "ascii":
            lines.append(say("percept.left_out", attended.more_things))
        return lines

    def _sees_nothing(self, view: Planes) -> bool:
        """Whether one is out of play, and every plane has its first code everywhere."""
        for plane in self.reader.spec.planes:
            nothing = {0} if plane.role == "goods" else {plane.codes[0]}
            if any(not nothing.issuperset(line) for line in view[plane.name]):
                return False
        return bool(self.reader.spec.planes)

    def _standing(self, view: Planes, here: tuple[int, int]) -> str:
        """What one stands on, and what is next to one and in one's way."""
        say, spec = self._say, self.reader.spec
        ground = self.reader.ground(view, *here)
        if ground is None:
            return ""
        sides = SIDES if self._plan.window == "turns" else COMPASS
        beside = []
        for side, (down, right) in zip(sides, BESIDE, strict=True):
            row, col = here[0] + down, here[1] + right
            if 0 <= row < spec.rows and 0 <= col < spec.cols:
                what = self.reader.ground(view, row, col)
                if what in self.reader.solid:
                    what = self.reader.station(view, row, col) or what
                    beside.append(say("percept.side", side=side, what=what))
        text = say("percept.standing", ground=ground)
        return text + (" " + say("percept.blocked", sides=say.commas(beside)) if beside else "")

    def _sentences(
        self, percept: Percept, view: Planes, attended: Attended, home: tuple[int, int] | None
    ) -> list[str]:
        """A sentence for each kind of thing, and one for each player; or one for each place."""
        say, where = self._say, self.whereabouts(percept, home)
        if percept.places:
            return self._by_place(percept, attended)
        kinds: dict[str, list[Sighting]] = {}
        lines = []
        for one in attended.sightings:
            if one.sort == "player":
                lines.append(self._player(percept, one, where))
            else:
                kinds.setdefault(self._what(one), []).append(one)
        for what, found in kinds.items():
            places = [where.words(one, listed=len(found) > 1) for one in found]
            if len(places) == 1:
                lines.append(say("percept.see_one", what=what, where=places[0]))
            else:
                told = say.semicolons(places)
                lines.append(say("percept.see_many", len(places), what=what, where=told))
        return lines or [say("percept.nothing")]

    def _by_place(self, percept: Percept, attended: Attended) -> list[str]:
        """What is at each place, and then all places where nothing is."""
        say, lines, bare = self._say, [], []
        for number, place in enumerate(percept.places):
            there = [
                self.called(percept, one.seat) if one.sort == "player" else self._what(one)
                for one in attended.sightings
                if one.covers(0, number)
            ]
            if there:
                lines.append(say("percept.at_place", place=place, what=say.commas(there)))
            else:
                bare.append(place)
        return [*lines, say("percept.bare_places", places=say.commas(bare))] if bare else lines

    def _what(self, one: Sighting) -> str:
        name = spoken(one.what)
        if one.sort == "light":
            return self._say("percept.light", what=name, plane=spoken(one.plane))
        if one.plane:
            name = self._say("percept.number", name=spoken(one.plane), value=name)
        return self._say("percept.see_units", what=name, units=one.units) if one.units else name

    def _player(self, percept: Percept, one: Sighting, where: Whereabouts) -> str:
        name, at, notes = self.called(percept, one.seat), where.words(one), self._notes(one)
        if not notes:
            return self._say("percept.player", name=name, where=at)
        return self._say("percept.player_facing", name=name, where=at, facing=notes)

    def _notes(self, one: Sighting) -> str:
        """Where a player faces and what it holds, as far as that is told."""
        say, told = self._say, []
        if one.heading >= 0:
            told.append(say(f"facing.{one.heading}"))
        if one.faces:
            told.append(say("facing.compass", way=one.faces))
        if one.holds:
            told.append(say("percept.holding", what=spoken(one.holds)))
        return say.commas(told)

    def _table(
        self, percept: Percept, view: Planes, attended: Attended, home: tuple[int, int] | None
    ) -> list[str]:
        """A row for each thing and each player."""
        say, where = self._say, self.whereabouts(percept, home)
        rows = [say("table.head")]
        for one in attended.sightings:
            player = one.sort == "player"
            rows.append(
                say(
                    "table.row",
                    what=self.called(percept, one.seat) if player else spoken(one.what),
                    where=where.words(one, listed=True),
                    units=one.units or one.cells,
                    notes=self._notes(one) if player else spoken(one.plane),
                )
            )
        return rows if len(rows) > 1 else [say("percept.nothing")]

    def _ascii(
        self, percept: Percept, view: Planes, attended: Attended, home: tuple[int, int] | None
    ) -> list[str]:
        """The map, and what cannot be seen on it."""
        if percept.places:
            return self._by_place(percept, attended)
        say, where = self._say, self.whereabouts(percept, home)
        drawn = self._map.draw(percept, view, self.reader, self.called)
        hidden = [
            say("menu.skill_thing", skill=self._what(one), thing=where.words(one))
            for one in self.reader.of_planes(view, percept.home, percept.seat)
            if one.sort not in ("player", "solid") and (one.units > 1 or drawn.covers(one))
        ]
        hidden += [
            say("map.notes", name=self.called(percept, one.seat), notes=self._notes(one))
            for one in attended.sightings
            if one.faces or one.holds
        ]
        below = [say("map.below", things=say.semicolons(hidden))] if hidden else []
        return [*drawn.lines, *below]

    def _shown(self, percept: Percept, window: ShownWindow) -> list[str]:
        """What another player sees and shows, told from where one is oneself."""
        say, home = self._say, percept.home or (0, 0)
        row, col = home[0] - window.ahead, home[1] + window.right
        at = Sighting("", "player", row, col, row, col, 0)
        if self._sees_nothing(window.view):
            return [say("percept.shown_out", name=window.name)]
        where = Whereabouts(percept, percept.home, say, "self").words(at)
        facing = say(f"facing.{window.turned % 4}")
        head = say("percept.shown", name=window.name, where=where, facing=facing)
        found = [
            one.shown_by(window, home)
            for one in self.reader.of_planes(window.view, home, window.seat)
            if one.seat < 0 or one.seat != percept.seat
        ]
        found = _at_places(percept, found) if percept.places else found
        attended = self.attention.attend(sorted(found, key=lambda one: one.distance), ())
        lines = [head, *self._sentences(percept, window.view, attended, percept.home)]
        if attended.more_things:
            lines.append(say("percept.left_out", attended.more_things))
        return lines

    def _happened(self, percept: Percept, attended: Attended, mark: str) -> list[str]:
        """Events, messages, and what was chosen first."""
        say, lines = self._say, []
        if attended.events:
            lines.append(say("percept.events"))
            if attended.more_events:
                lines.append(say("percept.events_left_out", attended.more_events))
            steps: dict[int, list[str]] = {}
            for one in attended.events:
                steps.setdefault(one.step, []).append(one.text)
            lines += [
                say("percept.event", step=step, text=say.semicolons(texts))
                for step, texts in steps.items()
            ]
        if percept.messages:
            key = "percept.messages_marked" if mark else "percept.messages"
            lines.append(say(key, mark=mark))
        lines += [self.message(heard, mark) for heard in percept.messages]
        for choice in percept.chosen:
            if choice.seat == percept.seat:
                continue
            what = say.commas([choice.skill or choice.action or "", *_words(choice.arguments)])
            lines.append(say("percept.chosen", name=choice.name, what=what))
        return lines


def _at_places(percept: Percept, seen: Sequence[Sighting]) -> list[Sighting]:
    """What is at the places, without the places themselves."""
    return [one for one in seen if one.what != percept.places[one.col]]


def _words(arguments: Mapping[str, object]) -> Sequence[str]:
    return [str(value) for value in arguments.values()]


def _number(value: float | tuple[float, ...]) -> str:
    return ", ".join(f"{x:g}" for x in value) if isinstance(value, tuple) else f"{value:g}"
