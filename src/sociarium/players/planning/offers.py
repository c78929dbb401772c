"""Which skills a player can use now, and with what: from its own view, legal actions and map."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool

from sociarium.charters.society import Society
from sociarium.core.actions import STAY, actions_by_object
from sociarium.core.decision import LONGEST_SKILL
from sociarium.core.environment import Environment, View
from sociarium.core.percept import UNSEEN, KnownMap, Meeting, Player, SkillOffer
from sociarium.core.percept_builder import PlaneNames, SeatsTold, default_names
from sociarium.core.specs import BYTE, PlaneSpec
from sociarium.players.planning.map_memory import NEVER, MapMemory, MapTracker
from sociarium.players.planning.skill import Ask, Skill
from sociarium.players.planning.skill_set import SkillSet, skills_of
from sociarium.players.planning.skills import Deed, Walker
from sociarium.players.planning.things import ANY, Things


@dataclass(frozen=True)
class _Entry:
    """A skill and what it asks for in this world; `acts` are the actions of a deed by object.

    Of its things, those that are `not_on_maps` are always there.
    """

    skill: Skill
    asks: tuple[Ask, ...]
    things: tuple[str, ...]
    not_on_maps: frozenset[str]
    acts: dict[str, int] | None

    @cached_property
    def groups(self) -> list[tuple[Ask, ...]]:
        """Of each of these, one has to be named."""
        either = {"player", "thing"} <= {*self.asks}
        found: list[tuple[Ask, ...]] = [("player", "thing")] if either else []
        for ask in self.asks:
            if ask != "steps" and not (either and ask != "place"):
                found.append((ask,))
        return found


class SkillOffers:
    """The skills of one world, as they can be offered to its players, who have these names."""

    def __init__(self, skill_set: SkillSet, names: Sequence[str] = ()) -> None:
        env, setting = skill_set.env, skill_set.setting
        self.names = tuple(names) or default_names(env.players)
        self._shape, self._things = setting.shape, setting.things
        conditional = any(skill.conditional for skill in skill_set.skills)
        self._sensible = skill_set.sensible_program if conditional else None
        social = env.view_spec.social
        self._seats_told = SeatsTold(() if social is None else social.ties, env.players)
        self._physical = len(env.world.actions if isinstance(env, Society) else env.actions)
        self._entries = [
            _Entry(
                skill,
                skill.asks(setting),
                skill.things(setting),
                frozenset(skill.things(setting)) - {*setting.things.names},
                actions_by_object(env.actions, skill.verb) if isinstance(skill, Deed) else None,
            )
            for skill in skill_set.skills
        ]

    def offers(
        self, seat: int, view: View, legal: Bool[np.ndarray, " actions"], memory: MapMemory
    ) -> tuple[SkillOffer, ...]:
        """What the player in this seat can pursue; its map holds what is in view.

        Left out are skills without any possible argument, deeds that are illegal and do not wait,
        what is conditional and makes no sense, and walking where nothing physical can be done.
        """
        acts = bool(legal[STAY + 1 : self._physical].any())
        lying, met = things_lying(self._things, memory), self._met(seat, memory)
        told = met
        if view.social is not None:
            contacts = self._seats_told(np.asarray(view.social.ties))
            seats = {one.seat for one in met} | {one for one in contacts if one is not None}
            told = self._players(seats - {seat})
        found = []
        for entry in self._sensible_entries(view, legal, memory):
            walks = isinstance(entry.skill, Walker)
            players = (met if walks else told) if "player" in entry.asks else ()
            offer = self._offer(entry, legal, lying, players) if acts or not walks else None
            if offer is not None:
                found.append(offer)
        return tuple(found)

    def everything(self) -> tuple[SkillOffer, ...]:
        """All skills with all arguments that are well-formed, whether they make sense or not."""
        everybody = self._players({*range(len(self.names))})
        return tuple(
            SkillOffer.model_construct(
                name=entry.skill.name,
                says=entry.skill.says,
                requires=tuple(entry.groups),
                things=() if entry.things == ("",) else entry.things,
                players=everybody if "player" in entry.asks else (),
                place=self._shape if "place" in entry.asks else None,
                steps=(1, LONGEST_SKILL) if "steps" in entry.asks else None,
            )
            for entry in self._entries
        )

    def _sensible_entries(
        self, view: View, legal: np.ndarray, memory: MapMemory
    ) -> Iterator[_Entry]:
        """All skills but conditional ones that make no sense now, with the things that do."""
        sensible = {}
        if self._sensible is not None:
            sensible = jax.device_get(self._sensible(view, legal, memory))
        for entry in self._entries:
            mask = sensible.get(entry.skill.name)
            if mask is None:
                yield entry
            elif mask.any():
                yield replace(entry, things=tuple(itertools.compress(entry.things, mask)))

    def _offer(
        self,
        entry: _Entry,
        legal: np.ndarray,
        lying: set[str],
        players: tuple[Player, ...],
    ) -> SkillOffer | None:
        """One skill with its arguments; nothing where it makes no sense now."""
        if isinstance(entry.skill, Deed) and entry.acts is not None:
            may = tuple(thing for thing, action in entry.acts.items() if legal[action])
            things = may or entry.things * entry.skill.waits
            implied = not things
        else:
            there = lying | entry.not_on_maps if entry.not_on_maps else lying
            things = tuple(one for one in entry.things if one in there)
            implied = bool(entry.things) and "thing" not in entry.asks and not things
        able = {"place": True, "thing": bool(things), "player": bool(players)}
        requires = [tuple(ask for ask in group if able[ask]) for group in entry.groups]
        if implied or not all(requires):
            return None
        return SkillOffer.model_construct(
            name=entry.skill.name,
            says=entry.skill.says,
            requires=tuple(requires),
            things=() if things == ("",) else things,
            players=players,
            place=self._shape if "place" in entry.asks else None,
            steps=(1, LONGEST_SKILL) if "steps" in entry.asks else None,
        )

    def _met(self, seat: int, memory: MapMemory) -> tuple[Player, ...]:
        """Other players whom this one has seen."""
        return self._players({*np.flatnonzero(memory.met_at != NEVER).tolist()} - {seat})

    def _players(self, seats: set[int]) -> tuple[Player, ...]:
        return tuple(
            Player.model_construct(seat=seat, name=self.names[seat]) for seat in sorted(seats)
        )


def every_skill(env: Environment[Any, Any], names: Sequence[str] = ()) -> tuple[SkillOffer, ...]:
    """All skills of a world, for menus of every well-formed command."""
    return SkillOffers(skills_of(env), names).everything()


def things_lying(things: Things, memory: MapMemory) -> set[str]:
    """The names of all things that lie somewhere on a player's map."""
    pages = np.concatenate([np.asarray(memory.known)[None], np.asarray(memory.lying)])
    first = np.arange(len(pages))[:, None, None] * BYTE
    there = np.bincount((pages + first).ravel(), minlength=len(pages) * BYTE).astype(bool)
    there = there.reshape(len(pages), BYTE)
    some = np.any(there[:, 1:], axis=1)[things.layer]
    coded = there[things.layer, things.code]
    found = np.where(things.code == ANY, some, coded).tolist()
    return {name for name, lies in zip(things.names, found, strict=True) if lies}


class MapReader:
    """Puts the maps of one world's players into words."""

    def __init__(self, map_tracker: MapTracker, names: Sequence[str] = ()) -> None:
        self.names = tuple(names) or default_names(map_tracker.sight.seats - 1)
        ground, *layers = map_tracker.planes
        self._cols = map_tracker.shape[1]
        self._ground = PlaneNames([PlaneSpec("ground", (UNSEEN, *ground.codes[1:]), "ground")])
        self._layers = [(plane.name, PlaneNames([plane])) for plane in layers]

    def read(self, seat: int, memory: MapMemory) -> KnownMap:
        """The map of the player in this seat, in NumPy, as it is told."""
        met_at, met = np.asarray(memory.met_at), np.asarray(memory.met)
        seats = [other for other in np.flatnonzero(met_at != NEVER).tolist() if other != seat]
        return KnownMap.model_construct(
            ground=_plane(self._ground, np.asarray(memory.known)),
            layers={
                name: _plane(names, np.asarray(codes))
                for (name, names), codes in zip(self._layers, memory.lying, strict=True)
                if np.any(codes)
            },
            seen=tuple(map(tuple, np.asarray(memory.seen_at).tolist())),
            met=tuple(
                Meeting.model_construct(
                    seat=other,
                    name=self.names[other],
                    row=int(met[other]) // self._cols,
                    col=int(met[other]) % self._cols,
                    step=int(met_at[other]),
                )
                for other in seats
            ),
        )


def _plane(names: PlaneNames, codes: np.ndarray) -> tuple[tuple[str | int, ...], ...]:
    (plane,) = names.windows(codes[None, None])[0].values()
    return plane
