"""A prompt for whoever commands several players: what they perceive, told once, and their menus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sociarium.core.percept import Percept
from sociarium.language.menus import Menu
from sociarium.language.phrases import IN_ENGLISH, Phrases
from sociarium.language.prompts import PromptWriter, Section


@dataclass(frozen=True)
class CrewPrompt:
    """The sections that have any text, in order, and the menu of each player by its seat."""

    sections: tuple[Section, ...]
    menus: Mapping[int, Menu]


class CrewWriter:
    """Writes the prompts of one mind in several seats, out of those of each."""

    def __init__(self, writer: PromptWriter, phrases: Phrases = IN_ENGLISH) -> None:
        self._writer, self._say = writer, phrases

    def write(self, percepts: Sequence[Percept], mark: str = "") -> CrewPrompt:
        """The prompt for these percepts; what several perceive alike is told with the first."""
        say = self._say
        prompts = [self._writer.write(percept, mark=mark) for percept in percepts]
        menus = {one.seat: prompt.menu for one, prompt in zip(percepts, prompts, strict=True)}
        names = [percept.name for percept in percepts]
        texts = {"persona": say("crew.names", len(names), names=say.all_of(names))}
        for name in ("memory", "percept"):
            told = [_text(prompt.sections, name) for prompt in prompts]
            texts[name] = self._together(names, told)
        texts["menu"] = self._menus(names, list(menus.values()))
        sections = [
            replace(section, text=texts.get(section.name, section.text))
            for section in prompts[0].sections
        ]
        return CrewPrompt(tuple(one for one in sections if one.text), menus)

    def _together(self, names: Sequence[str], texts: Sequence[str]) -> str:
        """What each perceives under its name, without the lines that were told before."""
        found, known = [], set[str]()
        for name, text in zip(names, texts, strict=True):
            lines = [line for line in text.splitlines() if line not in known]
            known.update(lines)
            if lines:
                found.append("\n".join([self._say("crew.perceives", name=name), *lines]))
        return "\n".join(found)

    def _menus(self, names: Sequence[str], menus: Sequence[Menu]) -> str:
        """The commands; for each by itself only where they differ."""
        ids = [[item.id for item in menu.items] for menu in menus]
        say = self._say
        if all(one == ids[0] for one in ids):
            return say("crew.commands", commands=say.semicolons(ids[0]))
        return "\n".join(
            say("crew.own_commands", name=name, commands=say.semicolons(own))
            for name, own in zip(names, ids, strict=True)
        )


def _text(sections: Sequence[Section], name: str) -> str:
    return next((one.text for one in sections if one.name == name), "")
