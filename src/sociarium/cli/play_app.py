"""A play screen on a terminal, by prompt_toolkit (the extra `play`)."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rich.console import Console

from sociarium.cli.play_page import fragments
from sociarium.cli.play_screen import PlayScreen
from sociarium.core.errors import BadArgument, MissingExtra

ESCAPE_WAIT = 0.05  # seconds until an escape is the key and no longer the start of another


def check_terminal() -> None:
    """Refuses to play by keys where there is no terminal that has them."""
    try:
        from prompt_toolkit.utils import is_dumb_terminal
    except ImportError:
        raise MissingExtra("prompt_toolkit", "play") from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or is_dumb_terminal():
        raise BadArgument(
            "here is no terminal with keys and colours; say --text to play by lines of text"
        )


@asynccontextmanager
async def on_terminal(
    screen: PlayScreen, input: Any = None, output: Any = None
) -> AsyncIterator[None]:
    """While it lasts, the screen fills the terminal and its keys are pressed there."""
    app = _app(screen, input, output)
    shown = asyncio.ensure_future(app.run_async(set_exception_handler=False))
    while not app.is_running and not shown.done():
        await asyncio.sleep(0)
    try:
        yield
    finally:
        if app.is_running:
            app.exit()
        await shown


def _app(screen: PlayScreen, input: Any, output: Any) -> Any:
    try:
        from prompt_toolkit.application import Application
        from prompt_toolkit.buffer import Buffer
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.keys import Keys
        from prompt_toolkit.layout import (
            BufferControl,
            ConditionalContainer,
            FormattedTextControl,
            HSplit,
            Layout,
            Window,
        )
        from prompt_toolkit.layout.processors import BeforeInput
        from prompt_toolkit.output import ColorDepth
    except ImportError:
        raise MissingExtra("prompt_toolkit", "play") from None

    editing = Condition(lambda: screen.mode == "edit")
    keys = KeyBindings()

    def accept(buffer: Any) -> bool:
        screen.type_line(buffer.text)
        return False

    line = Buffer(multiline=False, accept_handler=accept)
    field = BufferControl(line, input_processors=[BeforeInput(lambda: screen.prompt)])

    def page() -> Any:
        size = app.output.get_size()
        return fragments(screen.lines(size.columns, size.rows - editing()))

    board = FormattedTextControl(page, focusable=True, show_cursor=False)
    container = HSplit(
        [
            Window(board, wrap_lines=False),
            ConditionalContainer(Window(field, height=1), filter=editing),
        ]
    )

    def changed() -> None:
        wanted = field if screen.mode == "edit" else board
        if app.layout.current_control is not wanted:
            line.reset()
            app.layout.focus(wanted)
        app.invalidate()

    @keys.add(Keys.Any, filter=~editing)
    def _(event: Any) -> None:
        (pressed,) = event.key_sequence
        screen.press(_name(pressed.key))

    @keys.add("escape", filter=editing, eager=True)
    def _(event: Any) -> None:
        screen.type_line(None)

    @keys.add("c-c")
    @keys.add("<sigint>")
    def _(event: Any) -> None:
        screen.press("c-c")

    app: Any = Application(
        layout=Layout(container, focused_element=board),
        key_bindings=keys,
        full_screen=True,
        color_depth=ColorDepth.TRUE_COLOR if Console().color_system == "truecolor" else None,
        input=input,
        output=output,
    )
    app.ttimeoutlen = app.timeoutlen = ESCAPE_WAIT
    screen.changed = changed
    return app


def _name(key: Any) -> str:
    """What a key is called: its character, or such as `up`."""
    name = str(getattr(key, "value", key))
    return {"c-h": "backspace", "c-i": "tab", "c-m": "enter"}.get(name, name)
