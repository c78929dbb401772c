"""What a percept tells, as the parts of a page: the map, the lines beside it, and the news."""

from collections.abc import Mapping, Sequence
from typing import Any

from sociarium.cli.play_page import News
from sociarium.core.environment import Environment
from sociarium.core.facets import Board, ground_plan
from sociarium.core.patches import TO_ALL
from sociarium.core.percept import Heard, Percept, SeenEvent, ShownWindow
from sociarium.core.percept_scene import scene_of, shared_something
from sociarium.core.scene import Scene
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.prompts import Prompt, PromptWriter
from sociarium.language.renderings import FEW_ZEROS
from sociarium.language.sightings import Sighting
from sociarium.language.spoken import spoken
from sociarium.views import lying, terminal
from sociarium.views.lying import Lot

MOST_CELLS = 4  # that are told in words besides the map
MOST_COUNTED = 9  # units that one digit can tell
QUIET: dict[str, Any] = {"events": (), "messages": (), "chosen": (), "shared": {}}
SOCIETY = ("law", "groups", "knowledge")  # sections of a prompt


class PanelWriter:
    """Puts the percepts of one environment's players on a page.

    A `window` is what another player sees and shows, in place of one's own.
    """

    def __init__(self, env: Environment[Any, Any], phrases: Phrases = IN_ENGLISH) -> None:
        self._spec, self._say = env.view_spec, phrases
        self._writer = PromptWriter(env, phrases=phrases)
        self._reader, self._listed = self._writer.renderer.reader, self._writer.renderer.listed
        plan = ground_plan(env)
        self._mapped, self._turns = env.has(Board) and plan.cells > 1, plan.window == "turns"

    def prompt(self, percept: Percept) -> Prompt:
        """The percept in words, and its menu."""
        return self._writer.write(percept)

    def board(self, percept: Percept, window: ShownWindow | None = None) -> dict[str, Any]:
        """The map, what must be seen of it, and its legend; nothing where there is no map."""
        if not self._mapped:
            return {}
        scene = self._scene(percept, window)
        mine = next((body for body in scene.bodies if body.seat == scene.me), None)
        return {
            "board": terminal.board(scene),
            "focus": (0, 0) if mine is None else (mine.row, mine.col),
            "legend": terminal.board_legend(scene, self._called(percept)),
        }

    def lines(
        self, percept: Percept, sections: Mapping[str, str], window: ShownWindow | None = None
    ) -> list[str]:
        """What one knows about oneself and, by the sections of its prompt, about one's society."""
        say, lines = self._say, []
        if window is not None:
            lines.append(say("play.window", name=window.name))
        elif percept.windows:
            names = say.all_of(window.name for window in percept.windows)
            lines.append(say("play.own_window", len(percept.windows), names=names))
        if self._mapped:
            lines += [*self._state(percept), *self._marks(percept)]
            lines += self._covered(percept, window)
        else:
            quiet = percept.model_copy(update=QUIET)
            lines += self._writer.renderer.render(quiet).split("\n")
            lines += self._common(percept)
        for name in SOCIETY:
            lines += sections[name].split("\n") if name in sections else []
        return lines

    def news(self, percept: Percept) -> list[News]:
        """Events and messages in their order, then what was chosen first in this step."""
        found = [(one.step, self._event(one, percept.seat)) for one in percept.events]
        found += [(one.step, self._message(one)) for one in percept.messages]
        found.sort(key=lambda one: one[0])
        chosen = [
            News(self._say("percept.chosen", name=one.name, what=one.skill or one.action))
            for one in percept.chosen
            if one.seat != percept.seat
        ]
        return [*(news for _, news in found), *chosen]

    def clock(self, percept: Percept, steps: int = 0) -> str:
        """The step, of so many if that is known, and one's points if they are told."""
        say, step = self._say, percept.step
        told = say("play.step_of", step=step, steps=steps) if steps else say("play.step", step=step)
        if percept.score is None:
            return told
        return told + "  " + say("play.score", score=f"{percept.score:g}")

    def help(
        self, sections: Mapping[str, str], writes: Sequence[str], polled: bool, grouped: bool
    ) -> list[str]:
        """Who one is, what the keys do, and the rules."""
        say, spec, keys = self._say, self._spec, []
        if self._mapped:
            keys.append("play.help_map" if spec.with_role("goods") else "play.help_map_plain")
            keys += ["map.up" if self._turns else "map.north", "play.help_move"]
        keys += ["play.help_group"] if grouped else []
        keys.append("play.help_realtime" if polled else "play.help_space")
        if "say" in writes:
            keys.append("play.help_message_realtime" if polled else "play.help_message")
        keys.append("play.help_type")
        keys += [f"play.how_{word}" for word in writes if word != "say"]
        keys += ["play.help_window"] if spec.social and spec.social.shared_views else []
        lines = [*sections.get("persona", "").split("\n"), "", say("play.heading_keys")]
        lines += [say("knowledge.recipe", text=say(key)) for key in (*keys, "play.help_leave")]
        return [*lines, "", say("heading.rules"), *sections.get("rules", "").split("\n")]

    def _event(self, event: SeenEvent, seat: int) -> News:
        text = self._say("play.event", step=event.step, text=event.text)
        return News(text, mine=seat in (event.actor, event.target))

    def _message(self, heard: Heard) -> News:
        key = "play.message_all" if heard.to == TO_ALL else "play.message_you"
        text = " ".join(heard.text.split())
        return News(self._say(key, step=heard.step, name=heard.name, text=text), mine=True)

    def _scene(self, percept: Percept, window: ShownWindow | None) -> Scene:
        return scene_of(percept, self._spec, window=window)

    def _called(self, percept: Percept) -> list[str]:
        """The names of all players, but oneself."""
        names = list(percept.names)
        if names:
            names[percept.seat] = self._say("map.you")
        return names

    def _state(self, percept: Percept) -> list[str]:
        """Where one is, and one's numbers."""
        say, lines = self._say, []
        if percept.pose is not None and percept.pose.row is not None:
            cell = say("cell", row=percept.pose.row, col=percept.pose.col)
            lines.append(say("percept.pose", cell=cell, heading=percept.pose.heading))
        here = self._reader.own_place(percept.view)
        if here is None:
            lines.append(say("percept.out"))
        lines += self._hands(percept, here)
        if percept.own:
            lines.append(self._numbers(percept.own))
        lines += self._common(percept)
        if percept.hidden:
            lines.append(say("percept.hidden", numbers=self._listed(percept.hidden)))
        if percept.status:
            lines.append(say("percept.status", status=percept.status))
        return lines

    def _hands(self, percept: Percept, here: tuple[int, int] | None) -> list[str]:
        """What one holds and what others in view do, where planes tell that."""
        if not self._spec.with_role("hands"):
            return []
        say, held = self._say, "" if here is None else self._reader.holds(percept.view, *here)
        lines = [say("percept.you_hold", what=spoken(held) or say("percept.empty"))]
        for one in self._reader.read(percept):
            if one.holds:
                name = self._writer.renderer.called(percept, one.seat)
                lines.append(say("play.holds", name=name, what=spoken(one.holds)))
        return lines

    def _common(self, percept: Percept) -> list[str]:
        """What everybody sees and is not 0 or nothing: a line for all that begins alike."""
        alike: dict[tuple[str, ...], dict[str, int | float | str]] = {}
        for name, value in shared_something(percept).items():
            alike.setdefault(tuple(name.split()[:2]), {})[name] = value
        return [self._listed(numbers) for numbers in alike.values()]

    def _numbers(self, own: Mapping[str, int | float | str]) -> str:
        told = {name: value for name, value in own.items() if value != 0}
        if len(own) - len(told) <= FEW_ZEROS:
            return self._listed(own)
        if not told:
            return self._say("percept.own_none", names=self._say.commas(map(spoken, own)))
        return self._say("play.others_zero", numbers=self._listed(told))

    def _marks(self, percept: Percept) -> list[str]:
        """What planes tell that no map shows, the nearest first."""
        say, where = self._say, self._writer.renderer.whereabouts(percept)
        marks = [one for one in self._reader.read(percept) if one.plane and one.sort == "thing"]
        return [
            say(
                "percept.see_one",
                what=say("percept.number", name=spoken(one.plane), value=spoken(one.what)),
                where=where.words(one),
            )
            for one in marks[:MOST_CELLS]
        ]

    def _covered(self, percept: Percept, window: ShownWindow | None) -> list[str]:
        """What players stand on, and cells with more than two characters can tell."""
        say, scene = self._say, self._scene(percept, window)
        lots, called = lying.lots(scene), self._called(percept)
        view = percept.view if window is None else window.view
        bodies = {(body.row, body.col): body for body in scene.bodies}
        alike: dict[str, list[str]] = {}
        for at, body in sorted(bodies.items(), key=lambda one: one[1].seat != scene.me):
            things = self._things(lots.get(at, Lot()))
            if body.seat == scene.me and (ground := self._reader.ground(view, *at)):
                things = [spoken(ground), *things]
            name = called[body.seat] if 0 <= body.seat < len(called) else say("percept.somebody")
            if things:
                alike.setdefault(say.commas(things), []).append(name)
        lines = [
            say("play.stands_on", names=say.commas(names), things=things)
            for things, names in alike.items()
        ]
        where = self._writer.renderer.whereabouts(percept)
        crowded = [at for at, lot in lots.items() if at not in bodies and _is_crowded(lot)]
        crowded = crowded if window is None else []
        for row, col in crowded[:MOST_CELLS]:
            told = where.words(Sighting("", "thing", row, col, row, col, 0))
            things = say.commas(self._things(lots[row, col]))
            lines.append(say("play.lies", where=told, things=things))
        return lines

    def _things(self, lot: Lot) -> list[str]:
        say = self._say
        goods = [say("percept.see_units", what=spoken(n), units=units) for n, units in lot.goods]
        return [*goods, *(spoken(name) for name in (lot.beast, lot.place) if name)]


def _is_crowded(lot: Lot) -> bool:
    """Whether two characters cannot tell what is on a cell."""
    kinds, units = len(lot.goods), [units for _, units in lot.goods]
    return kinds > 2 or max(units, default=0) > MOST_COUNTED or (kinds == 2 and max(units) > 1)
