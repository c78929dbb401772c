"""`sociarium words NAME`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from sociarium import catalogue
from sociarium.arena.percepts import percept_at
from sociarium.arena.seating import demonstration
from sociarium.cli.checks import WorldCommand, at_least, seated
from sociarium.core import disk
from sociarium.core.environment import Environment
from sociarium.core.errors import BadArgument
from sociarium.core.percept import Percept, SkillOffer
from sociarium.language.attention import Attention, attention
from sociarium.language.menus import MenuKind, Vocabulary
from sociarium.language.prompts import LAYOUT, Prompt, PromptWriter
from sociarium.language.renderings import STYLES, Style
from sociarium.language.tokens import count_tokens, exact_counter
from sociarium.players.planning.offers import every_skill
from sociarium.players.planning.vocabulary import plan_vocabulary
from sociarium.views.window_picture import window_png

LOOKED_AT = 20  # the step of each world that `--all` looks at, or its last one


@dataclass(frozen=True)
class Words(WorldCommand):
    """What a player in a seat is told, as a language model or a person reads it.

    The same knowledge as a policy in that seat has, in several styles. With --all: how many tokens
    every world takes in every style.
    """

    world: tyro.conf.Positional[str] = ""  # catalogue name, e.g. harvest_open
    at: int = 0  # before this step
    player: int = 0  # in which seat
    style: Style = "sentences"  # how what is in view is told
    attention: str = "salience"  # of what is in view: all, nearest:10 or salience
    menu: MenuKind = "legal"  # what is possible now, all commands, or all plans
    seats: str = ""  # who plays until then; empty for the world's own demonstration
    players: int | None = None  # how many, instead of the default
    seed: int = 0
    skills: bool = True  # a map of what was seen, and skills
    template: Path | None = None  # a Jinja2 file that lays the sections out
    tokenizer: Path | None = None  # a tokenizer.json that counts tokens exactly
    image: Path | None = None  # also draw the player's window, as .png
    all: bool = False  # the tokens of every world in every style
    json: bool = False  # one JSON object instead of text

    def run(self) -> None:
        """Prints a prompt, or the table of all."""
        at_least("at", self.at, 0)
        chosen = attention(self.attention)
        if self.image is not None and self.image.suffix != ".png":
            raise BadArgument(f"--image is a .png; given {self.image}")
        if self.all:
            if self.world:
                raise BadArgument("--all is for every world; leave WORLD out")
            self._every_world(chosen)
            return
        if not self.world:
            raise BadArgument("name a world, as in `sociarium words harvest_open`, or give --all")
        layout = LAYOUT if self.template is None else _read(self.template)
        env, seats = seated(self.world, self.seats, self.players)
        writer = PromptWriter(
            env,
            style=self.style,
            attention=chosen,
            menu=self.menu,
            skills=self._every_skill(env),
            template=layout,
            count=count_tokens if self.tokenizer is None else exact_counter(self.tokenizer),
        )
        with Console(stderr=True).status(f"playing {self.at} steps of {env.id} with {seats}"):
            told = {"seed": self.seed, "skilled": self.skills}
            percept = percept_at(env, seats, self.player, self.at, **told)
        prompt = writer.write(percept)
        if self.image is not None:
            disk.replace(self.image, window_png(percept, env.view_spec))
        print(json.dumps(self._as_dict(prompt, percept)) if self.json else prompt.text)

    def _every_skill(self, env: Environment[Any, Any]) -> Sequence[SkillOffer] | Vocabulary:
        """What stands in menus that do not depend on what is possible now."""
        if self.menu == "vocabulary":
            return plan_vocabulary(env)
        return every_skill(env) if self.skills and self.menu == "all" else ()

    def _as_dict(self, prompt: Prompt, percept: Percept) -> dict[str, Any]:
        return {
            "world": percept.world,
            "step": percept.step,
            "player": percept.seat,
            "style": self.style,
            "attention": self.attention,
            "tokens": sum(section.tokens for section in prompt.sections),
            "sections": [
                {
                    "name": section.name,
                    "stability": section.stability.name.lower(),
                    "hash": section.hash,
                    "tokens": section.tokens,
                }
                for section in prompt.sections
            ],
            "menu": {item.id: item.text for item in prompt.menu.items},
            "schema": prompt.menu.schema,
            "text": prompt.text,
        }

    def _every_world(self, chosen: Attention) -> None:
        """Tokens of what is told at one step, and of the rules, for each world and style."""
        rows: dict[str, dict[str, int]] = {}
        console = Console(stderr=True)
        worlds = [entry for entry in catalogue.worlds() if entry.version == 0]
        for number, entry in enumerate(worlds, 1):
            with console.status(f"{entry.id} ({number} of {len(worlds)})"):
                env = catalogue.make(entry.id)
                cast = demonstration(entry.cast, env.players)
                step = min(LOOKED_AT, int(env.horizon(env.params())) - 1)
                percept = percept_at(env, cast, 0, step, seed=self.seed, skilled=False)
                rows[entry.family] = _tokens(env, percept, chosen)
        if self.json:
            print(json.dumps({"step": LOOKED_AT, "attention": self.attention, "tokens": rows}))
            return
        columns = ["rules", *STYLES]
        print(f"{'world':24}" + "".join(f"{name:>11}" for name in columns))
        for name, tokens in rows.items():
            print(f"{name:24}" + "".join(f"{tokens[column]:>11,}" for column in columns))


def _tokens(env: Environment[Any, Any], percept: Percept, chosen: Attention) -> dict[str, int]:
    """Of the rules, and of the percept in each style."""
    found: dict[str, int] = {}
    for style in STYLES:
        prompt = PromptWriter(env, style=style, attention=chosen).write(percept)
        found.setdefault("rules", prompt.section("rules").tokens)
        found[style] = prompt.section("percept").tokens
    return found


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"cannot read {file}: {error}") from None
