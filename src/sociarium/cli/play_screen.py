"""The keyboard and the page of a person who plays by single keys; `play_app` puts it on a terminal.

Nothing here knows the terminal: keys come in by their names, and the page goes out as lines.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from rich.text import Text

from sociarium.cli.play_keys import SKILLS_KEY, ActionKeys, Shortcut
from sociarium.cli.play_page import News, PlayPage, compose, reading_page
from sociarium.cli.play_panel import PanelWriter
from sociarium.core.decision import BadAnswer, Decision
from sociarium.core.environment import Environment
from sociarium.core.facets import Writing, find_facet
from sociarium.core.patches import TO_ALL
from sociarium.core.percept import Percept
from sociarium.language.menus import Menu, MenuItem
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.spoken import spoken
from sociarium.players.protocol import HostSeating
from sociarium.players.typed import PendingAnswer, read_line, read_message

Mode = Literal["choose", "group", "edit", "read", "leave", "over"]
Editing = Literal["message", "line", "arguments"]
LEAVE, HELP, TYPE, MESSAGE, WINDOW = "q", "?", ":", "m", "tab"
ANY_WAY = ("c-c", "c-d")  # keys that leave at once
CLOSING = ("enter", "escape", LEAVE)  # the last page, which a key that is held down must not
NEXT_PAGE, LAST_PAGE, BACK = "pagedown", "pageup", ("escape", "backspace")
MOST_NEWS = 200  # lines
AHEAD, STALE = 4, 1.0  # keys that are pressed before one is asked, and seconds until they are old


class PlayScreen:
    """A `Keyboard` of single keys, with a page to look at.

    `changed` is called whenever the page is another. A `polled` one is for real time.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        *,
        polled: bool = False,
        skilled: bool = False,
        steps: int = 0,
        phrases: Phrases = IN_ENGLISH,
    ) -> None:
        self.env, self.polled, self.skilled, self.left = env, polled, skilled, False
        self.changed: Callable[[], None] = lambda: None
        self.asked_at = -1  # the last step before which it was asked
        self.mode: Mode = "choose"
        self._steps, self._say = steps, phrases
        writing = find_facet(env, Writing)
        self._writes = () if writing is None else writing.kinds
        taken = [LEAVE, HELP, TYPE, *([SKILLS_KEY] if skilled else [])]
        self._keys = ActionKeys(env.actions, [*taken, *([MESSAGE] if self._may_say else [])])
        self._panel = PanelWriter(env, phrases)
        self._percept: Percept | None = None
        self._menu = Menu(())
        self._told: dict[str, str] = {}  # sections of the prompt, by name
        self._news: deque[News] = deque(maxlen=MOST_NEWS)
        self.pending = PendingAnswer()
        self._answer: asyncio.Future[Decision] | None = None
        self._early: list[tuple[float, str]] = []
        self._entered: Mapping[str, Any] | None = None  # in real time, since the last poll
        self._note, self._waits = "", phrases("play.at_once")
        self._group: Shortcut | None = None
        self._editing: Editing = "line"
        self._argued: MenuItem | None = None
        self._turned = self._window = self._first = 0
        self._read_on: asyncio.Future[None] | None = None
        self._last_line = 0

    @property
    def _may_say(self) -> bool:
        return "say" in self._writes

    @property
    def ready(self) -> bool:
        """Whether the next key counts now."""
        return self.mode != "choose" or self._may_choose

    @property
    def _may_choose(self) -> bool:
        if self.mode == "over":
            return False
        return self.polled or (self._answer is not None and not self._answer.done())

    # As a keyboard.

    async def open(self, seating: HostSeating) -> None:
        """Nothing is held."""

    async def ask(self, percept: Percept) -> Decision:
        """Shows what is perceived, and waits for a choice."""
        self.asked_at = percept.step
        if self.left:
            return Decision()
        self._face(percept)
        self._waits = ""
        self._answer = asyncio.get_running_loop().create_future()
        self.changed()
        self._take_early()
        try:
            decision = await self._answer
        finally:
            self._answer, self._waits = None, self._say("play.at_once")
        self._remember(percept, decision)
        return decision

    def newest(self, percept: Percept) -> Decision | None:
        """The choice that was entered last, if it is still possible, with what was written."""
        self.asked_at, self._waits = percept.step, ""
        self._face(percept)
        chosen, self._entered = self._entered, None
        decision = None
        if chosen is not None or self.pending.written:
            try:
                decision = self.pending.choose(self._menu, chosen or self._stay, percept)
            except BadAnswer:
                wished = (chosen or self._stay)["choice"]
                self._note = self._say("play.not_now", choice=wished)
        self._remember(percept, decision or Decision())
        self.changed()
        return decision

    async def close(self) -> None:
        """Nothing is held."""

    # What is shown besides.

    def show(self, percept: Percept, pursues: bool = False) -> None:
        """Shows what is perceived while nothing is asked."""
        self._face(percept)
        self._waits = self._say("play.pursuing" if pursues else "play.waiting")
        self.changed()

    async def introduce(self, percept: Percept) -> None:
        """The rules and the keys, until a key is pressed."""
        self._face(percept)
        await self._wait_in("read")

    async def conclude(self, percept: Percept, why: str) -> None:
        """The last page, until it is closed."""
        self._face(percept)
        self._remember(percept, Decision())
        self._waits = self._say("play.over", why=why)
        await self._wait_in("over")

    def notice(self, text: str) -> None:
        """Something besides what is perceived."""
        self._news.append(News(text))
        self.changed()

    def leave(self) -> None:
        """The person leaves: whoever waits for it need not wait any longer."""
        self.left = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Decision())
        self._go_on()

    async def _wait_in(self, mode: Mode) -> None:
        if self.left:
            return
        self.mode, self._first = mode, 0
        self._read_on = asyncio.get_running_loop().create_future()
        self.changed()
        await self._read_on
        self._read_on = None

    def _go_on(self) -> None:
        self.mode = "choose"
        if self._read_on is not None and not self._read_on.done():
            self._read_on.set_result(None)

    def _face(self, percept: Percept) -> None:
        prompt = self._panel.prompt(percept)
        self._percept, self._menu = percept, prompt.menu
        self._told = {section.name: section.text for section in prompt.sections}
        if self._window > len(percept.windows):
            self._window = 0

    def _remember(self, percept: Percept, decision: Decision) -> None:
        """What is news now is old when the next question comes."""
        self._news += self._panel.news(percept)
        if decision.say is not None:
            whom = decision.say.to
            name = self._say("menu.all") if whom == TO_ALL else percept.names[whom]
            text = " ".join(decision.say.text.split())
            said = self._say("play.said", step=percept.step, name=name, text=text)
            self._news.append(News(said, mine=True))
        if self._percept is percept:
            nothing = {"events": (), "messages": (), "chosen": ()}
            self._percept = percept.model_copy(update=nothing)

    # Keys.

    def press(self, key: str) -> None:
        """A key was pressed, by its name: a character, or such as up, escape, pagedown."""
        self._note = ""
        if key in ANY_WAY:
            self.leave()
        elif self.mode == "read":
            self._page_through(key)
        elif self.mode == "over":
            if key in CLOSING:
                self._go_on()
        elif self.mode == "leave":
            self.mode = "choose"
            if key in ("y", "Y"):
                self.leave()
        elif self.mode == "group":
            self._press_in_group(key)
        else:
            self._press(key)
        self.changed()

    def _press(self, key: str) -> None:
        if key == LEAVE:
            self.mode = "leave"
        elif key == HELP:
            self.mode, self._first = "read", 0
        elif key == WINDOW and self._percept is not None:
            self._window = (self._window + 1) % (1 + len(self._percept.windows))
        elif key in (NEXT_PAGE, LAST_PAGE):
            self._turned += 1 if key == NEXT_PAGE else -1
        elif not self._may_choose:
            if len(self._early) < AHEAD:
                self._early.append((time.monotonic(), key))
        elif key == MESSAGE and self._may_say:
            self._edit("message")
        elif key == TYPE:
            self._edit("line")
        else:
            self._press_choice(key)

    def _press_choice(self, key: str) -> None:
        for shortcut in self._keys.shortcuts(self._menu):
            if key in shortcut.keys:
                first, *others = shortcut.choices
                if others:
                    self.mode, self._group, self._turned = "group", shortcut, 0
                else:
                    self._choose_item(self._menu.by_id[first])
                return
        self._explain(key, self._keys.named(key))

    def _explain(self, key: str, meant: str = "") -> None:
        """Says why a key does nothing."""
        label = Shortcut((key,), "", ()).label
        self._note = (
            self._say("play.not_now", choice=meant)
            if meant
            else self._say("play.no_key", pressed=label)
        )

    def _press_in_group(self, key: str) -> None:
        if key in (NEXT_PAGE, LAST_PAGE):
            self._turned += 1 if key == NEXT_PAGE else -1
            return
        if key not in BACK and self._group is not None:
            for shortcut in self._keys.within(self._possible(self._group), self._menu):
                if key in shortcut.keys:
                    self._to_choices()
                    self._choose_item(self._menu.by_id[shortcut.choices[0]])
                    return
            self._explain(key)
            return
        self._to_choices()

    def _possible(self, group: Shortcut) -> Shortcut:
        """The group as it is now, since in real time choices come and go."""
        left = tuple(choice for choice in group.choices if choice in self._menu.by_id)
        return replace(group, choices=left)

    def _to_choices(self) -> None:
        self.mode, self._group, self._turned = "choose", None, 0

    def _choose_item(self, item: MenuItem) -> None:
        if item.needs:
            self._argued = item
            self._edit("arguments")
        else:
            self._choose({"choice": item.id})

    def _choose(self, fields: Mapping[str, Any]) -> None:
        """The choice counts, or it is said what is wrong with it."""
        if self.polled:
            self._entered = fields
            return
        if self._answer is None or self._answer.done() or self._percept is None:
            return
        try:
            decision = self.pending.choose(self._menu, fields, self._percept)
        except BadAnswer as error:
            self._note = str(error)
            return
        self._turned = 0
        self._answer.set_result(decision)

    def _take_early(self) -> None:
        """Keys that were pressed a moment before one was asked."""
        early, self._early = self._early, []
        for moment, key in early:
            if time.monotonic() - moment < STALE:
                self.press(key)

    def _page_through(self, key: str) -> None:
        moves = {" ": 10, "down": 1, NEXT_PAGE: 10, "up": -1, LAST_PAGE: -10}
        at_end = key == " " and self._first >= self._last_line
        if key not in moves or at_end:
            self._go_on()
        else:
            self._first = min(max(self._first + moves[key], 0), self._last_line)

    @property
    def _stay(self) -> Mapping[str, Any]:
        return {"choice": self._menu.items[0].id}

    # Typing.

    @property
    def prompt(self) -> str:
        """What stands before the line that is typed."""
        if self._editing == "arguments" and self._argued is not None:
            takes = self._argued.takes.items()
            told = " ".join(f"{name} ({low}-{high})" for name, (low, high) in takes)
            choice = spoken(self._argued.id)
            return self._say("play.arguments_prompt", choice=choice, arguments=told)
        return self._say(
            "play.message_prompt" if self._editing == "message" else "play.type_prompt"
        )

    def _edit(self, what: Editing) -> None:
        self.mode, self._editing = "edit", what

    def type_line(self, line: str | None) -> None:
        """A line was typed; none where that was given up."""
        if self.mode != "edit":
            return
        self.mode, self._note = "choose", ""
        if line is not None and line.strip():
            try:
                self._read(line.strip())
            except BadAnswer as error:
                self._note = str(error)
        self.changed()

    def _read(self, line: str) -> None:
        menu = self._menu
        if self._editing == "message":
            self.pending.write(menu, read_message(line, menu))
            return
        if self._editing == "arguments" and self._argued is not None:
            line = f"{self._argued.id} {line}"
        typed = read_line(line, menu)
        if typed.written:
            self.pending.write(menu, typed.written)
        else:
            self._choose(typed.choice)

    # The page.

    def lines(self, width: int, height: int) -> list[Text]:
        """The page, for a terminal of this size."""
        percept = self._percept
        if percept is None:
            return [Text(self._waits)]
        title = self._say("play.title", title=self.env.sheet.title, name=percept.name)
        if self.mode == "read":
            grouped = self.skilled or self._keys.grouped
            text = self._panel.help(self._told, self._writes, self.polled, grouped)
            footer = self._say("play.reading")
            shown, self._last_line = reading_page(title, text, footer, self._first, width, height)
            return shown
        heading, choices = self._choices()
        window = percept.windows[self._window - 1] if self._window else None
        page = PlayPage(
            title=title,
            clock=self._panel.clock(percept, self._steps),
            panel=self._panel.lines(percept, self._told, window),
            news=[*self._news, *self._panel.news(percept)],
            heading=heading,
            choices=choices,
            turned=self._turned,
            pending=self.pending.lines(self._menu),
            note=self._say("play.leave") if self.mode == "leave" else self._note or self._waits,
            footer=self._footer(percept),
            **self._panel.board(percept, window),
        )
        return compose(page, width, height, self._say)

    def _choices(self) -> tuple[str, Sequence[Shortcut]]:
        if self.mode == "group" and self._group is not None:
            what = self._group.text.removesuffix(" ...")
            within = self._keys.within(self._possible(self._group), self._menu)
            return self._say("play.which", what=what), within
        if not self._may_choose:
            return self._say("play.choices"), ()
        return self._say("play.choices"), self._keys.shortcuts(self._menu)

    def _footer(self, percept: Percept) -> str:
        keys = [
            "play.key_help",
            "play.key_leave",
            *(["play.key_message"] if self._may_say else []),
            *(["play.key_window"] if percept.windows else []),
            "play.key_type",
        ]
        return "   ".join(self._say(key) for key in keys)
