"""Makes percepts: from one seat's view and legal actions, never from the state.

So two states that look the same to a player give it equal percepts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool

from sociarium.core.actions import COMPASS, action_names
from sociarium.core.environment import Environment, Social, View
from sociarium.core.errors import BadArgument
from sociarium.core.events import Row
from sociarium.core.facets import Anonymous, Board, Crafting, Places, find_facet, ground_plan
from sociarium.core.percept import (
    PROTOCOL,
    Choice,
    Contact,
    Heard,
    KnownMap,
    Percept,
    Planes,
    Pose,
    SeenEvent,
    ShownWindow,
    SkillOffer,
)
from sociarium.core.specs import BYTE, OwnSpec, PlaneSpec, name_seats, seat_planes
from sociarium.core.text import refuse_text

MOST_NAMED = 256  # players; in larger worlds the names of all are not told

Disclosure = Literal["none", "discovered", "full"]  # of hidden rules
Privileged = Literal["pose", "score"]  # what a policy is not told


def default_names(players: int) -> tuple[str, ...]:
    """What players are called unless they have names of their own: by their seats."""
    return tuple(f"player {seat}" for seat in range(players))


class PlaneNames:
    """The names of all codes of some planes; where goods are counted, the numbers themselves."""

    def __init__(self, planes: Sequence[PlaneSpec]) -> None:
        self.planes = tuple(plane.name for plane in planes)
        table = np.empty((len(planes), BYTE), object)
        for number, plane in enumerate(planes):
            counted = plane.role == "goods"
            names = list(plane.codes) + [f"code {n}" for n in range(len(plane.codes), BYTE)]
            table[number] = range(BYTE) if counted else names[:BYTE]
        self._names = table.ravel()
        self._first = (np.arange(len(planes)) * BYTE).astype(np.intp)

    def windows(self, cells: np.ndarray) -> list[Planes]:
        """Windows `[windows, planes, rows, cols]`, each as planes by name."""
        named = self._names.take(cells + self._first[:, None, None]).tolist()
        return [
            {
                name: tuple(map(tuple, plane))
                for name, plane in zip(self.planes, window, strict=True)
            }
            for window in named
        ]

    def rows(self, codes: np.ndarray) -> list[dict[str, str]]:
        """One code of each plane in every row of `[rows, planes]`, as names by plane."""
        named = self._names.take(codes + self._first).tolist()
        return [dict(zip(self.planes, row, strict=True)) for row in named]


class SeatsTold:
    """Which seats the contacts of a player have, by what a society tells about them."""

    def __init__(self, ties: Sequence[PlaneSpec], players: int) -> None:
        planes, names = seat_planes(players), [plane.name for plane in ties]
        told = all(plane in ties for plane in planes)
        self._columns = [names.index(plane.name) for plane in planes] if told else []
        self._units, self._players = BYTE ** np.arange(len(self._columns)), players

    def __call__(self, ties: np.ndarray) -> list[int | None]:
        """The seat of each contact; none where there is nobody, or one cannot tell."""
        if not self._columns:
            return [None] * len(ties)
        seats = (ties[:, self._columns] @ self._units - 1).tolist()
        return [seat if 0 <= seat < self._players else None for seat in seats]


class PerceptBuilder:
    """Makes the percepts of one world's players, who are called by these `names`.

    `knowledge` says which recipes are disclosed: none, those that a player has come across, or all.
    What a policy is not told is told to nobody unless it is in `privileged`.
    """

    def __init__(
        self,
        env: Environment[Any, Any],
        names: Sequence[str] = (),
        knowledge: Disclosure = "none",
        privileged: Iterable[Privileged] = (),
    ) -> None:
        if names and len(names) != env.players:
            raise BadArgument(f"there are {env.players} players; given {len(names)} names")
        self.names = tuple(names) or default_names(env.players)
        for name in names:
            refuse_text(name, "the name of a player")
        self.knowledge: Disclosure = knowledge
        self.privileged = frozenset(privileged)
        self.world = env.id or type(env).__name__
        self._spec, self._plan = env.view_spec, ground_plan(env)
        self._own = tuple(one.name for one in self._spec.own)
        self._shared = tuple(one.called(self.names) for one in self._spec.shared)
        places, crafting = find_facet(env, Places), find_facet(env, Crafting)
        self._places = () if places is None else places.names
        self._on_board = env.has(Board)
        self._anonymous = env.has(Anonymous)
        self._recipes = () if crafting is None else tuple(str(one) for one in crafting.recipes)
        self._rules = dict(env.sheet.rules)
        self._actions = np.array(action_names(env.actions), object)
        self._planes = PlaneNames(self._spec.planes)
        self._events = {spec.name: spec for spec in env.event_specs}
        social = self._spec.social
        self._social_own = PlaneNames(() if social is None else social.own)
        self._ties = PlaneNames(() if social is None else social.ties)
        self._seats_told = SeatsTold(() if social is None else social.ties, env.players)
        named = self.names if env.players <= MOST_NAMED else ()
        self._fixed = {  # in every percept
            "protocol": PROTOCOL,
            "world": self.world,
            "names": named,
            "home": None if self._plan.window == "fixed" else self._spec.ego_origin,
            "window": self._plan.window,
            "places": self._places,
        }

    def build(
        self,
        seat: int,
        step: int,
        view: View,
        legal: Bool[np.ndarray, " actions"],
        *,
        events: Iterable[Row] = (),
        messages: Iterable[Heard] = (),
        chosen: Iterable[Choice] = (),
        cell: int | None = None,
        heading: int = 0,
        score: float | None = None,
        knows: Bool[np.ndarray, " recipes"] | None = None,
        law: Iterable[str] = (),
        map: KnownMap | None = None,
        skills: Iterable[SkillOffer] = (),
        status: str = "",
        hidden: Mapping[str, Any] | None = None,
        first: bool = False,
    ) -> Percept:
        """The percept of the player in this seat, from its view and legal actions in NumPy.

        `cell` and `heading` are its pose, `knows` its row of what the players have come across;
        the `law` is public.
        """
        located = cell is not None and ("pose" in self.privileged or map is not None)
        social = view.social
        return Percept.model_construct(
            **self._fixed,
            seat=seat,
            name=self.names[seat],
            step=step,
            legal=tuple(self._actions[legal].tolist()),
            view=self._planes.windows(np.asarray(view.cells)[None])[0],
            own=_numbers(self._own, self._spec.own, np.asarray(view.own)),
            shared=_numbers(self._shared, self._spec.shared, np.asarray(view.shared)),
            social={} if social is None else self._social_own.rows(np.asarray(social.own)[None])[0],
            numbers={} if social is None else self._terms(np.asarray(social.numbers)),
            law=tuple(name_seats(sentence, self.names) for sentence in law),
            contacts=() if social is None else self._contacts(np.asarray(social.ties)),
            windows=() if social is None else self._windows(social),
            events=tuple(self._event(self._told_to(seat, row), located) for row in events),
            messages=tuple(messages),
            chosen=tuple(chosen),
            knowledge=self._disclosed(knows),
            map=map,
            skills=tuple(skills),
            status=status,
            pose=self._pose(cell, heading) if cell is not None and located else None,
            score=None if score is None or "score" not in self.privileged else float(score),
            hidden={} if hidden is None else {name: _plain(x) for name, x in hidden.items()},
            first=first,
            rules=dict(self._rules) if first else {},
        )

    def heard(self, step: int, seat: int, to: int, text: str) -> Heard:
        """A message, with the name of who wrote it."""
        return Heard.model_construct(step=step, seat=seat, name=self.names[seat], to=to, text=text)

    def choice(
        self,
        seat: int,
        action: str | None = None,
        skill: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> Choice:
        """What a player has chosen, with its name."""
        return Choice.model_construct(
            seat=seat,
            name=self.names[seat],
            action=action,
            skill=skill,
            arguments=dict(arguments or {}),
        )

    def visible(
        self, rows: Iterable[Row], seat: int, cell: int, heading: int, present: bool = True
    ) -> tuple[Row, ...]:
        """Of what happened, what a player with this pose notices, as the events' specs say."""
        return tuple(row for row in rows if self._notices(row, seat, cell, heading, present))

    def _notices(self, row: Row, seat: int, cell: int, heading: int, present: bool) -> bool:
        visible = self._events[row.kind].visible
        if visible in ("all", "nobody"):
            return visible == "all"
        if seat in (row.actor, row.target):
            return True
        if visible == "involved":
            return False
        if row.row < 0:
            return row.target < 0
        return present and self._in_sight(cell, heading, row.row, row.col)

    def _in_sight(self, cell: int, heading: int, row: int, col: int) -> bool:
        """Whether a place of the map is in the window of a player with this pose."""
        plan, spec = self._plan, self._spec
        (rows, cols), (own_row, own_col) = plan.shape, spec.ego_origin
        if plan.window == "fixed":  # who is at none of the places sees them all the same
            return cell < plan.cells or not self._on_board
        if not 0 <= cell < plan.cells:
            return False
        down, right = row - cell // cols, col - cell % cols
        around = (-1, 0, 1) if plan.wraps else (0,)
        turned = heading if plan.window == "turns" else 0
        for down_too in (down + rows * times for times in around):
            for right_too in (right + cols * times for times in around):
                ahead, aside = _from_ahead(down_too, right_too, turned)
                if 0 <= own_row - ahead < spec.rows and 0 <= own_col + aside < spec.cols:
                    return True
        return False

    def _pose(self, cell: int, heading: int) -> Pose:
        here, cols = 0 <= cell < self._plan.cells, self._plan.shape[1]
        row, col = divmod(int(cell), cols) if here else (None, None)
        return Pose.model_construct(row=row, col=col, heading=COMPASS[heading])

    def _told_to(self, seat: int, row: Row) -> Row:
        """What a player is told of an event: not who it was, where players are anonymous."""
        if not self._anonymous:
            return row
        hidden = {name: -1 for name in ("actor", "target") if getattr(row, name) != seat}
        return row._replace(**hidden)

    def _event(self, row: Row, located: bool) -> SeenEvent:
        spec = self._events[row.kind]
        placed = row.row >= 0 and (located or self._plan.window == "fixed")
        called = lambda seat: self.names[seat] if seat >= 0 else "somebody"  # noqa: E731
        text = spec.sentence.format(
            actor=called(row.actor),
            target=called(row.target),
            row=row.row if placed else "?",
            col=row.col if placed else "?",
            value=spec.values[int(row.value)] if spec.values else f"{row.value:g}",
        )
        return SeenEvent.model_construct(
            step=row.step,
            kind=row.kind,
            actor=row.actor if row.actor >= 0 else None,
            target=row.target if row.target >= 0 else None,
            row=row.row if placed else None,
            col=row.col if placed else None,
            value=float(row.value),
            text=text,
        )

    def _contacts(self, ties: np.ndarray) -> tuple[Contact, ...]:
        found = []
        for seat, about in zip(self._seats_told(ties), self._ties.rows(ties), strict=True):
            name = None if seat is None else self.names[seat]
            found.append(Contact.model_construct(seat=seat, name=name, ties=about))
        return tuple(found)

    def _terms(self, values: np.ndarray) -> dict[str, float]:
        """The numbers of the charter by name, in points."""
        social = self._spec.social
        specs = () if social is None else social.numbers
        told = zip(specs, values.tolist(), strict=True)
        return {one.name: round(value * one.unit, 9) for one, value in told}

    def _windows(self, social: Social) -> tuple[ShownWindow, ...]:
        shown = np.flatnonzero(social.shared_view)
        if not len(shown):
            return ()
        views = self._planes.windows(np.asarray(social.windows)[shown])
        whose = (np.asarray(social.shared_view)[shown] - 1).tolist()
        places = np.asarray(social.offsets)[shown].tolist()
        return tuple(
            ShownWindow.model_construct(
                seat=seat, name=self.names[seat], ahead=ahead, right=right, turned=turned, view=view
            )
            for seat, (ahead, right, turned), view in zip(whose, places, views, strict=True)
        )

    def _disclosed(self, knows: np.ndarray | None) -> tuple[str, ...]:
        """The recipes that this player is told of."""
        if self.knowledge == "full":
            return self._recipes
        if self.knowledge == "none" or knows is None:
            return ()
        return tuple(one for one, known in zip(self._recipes, knows, strict=True) if known)


def visible_events(
    env: Environment[Any, Any],
    rows: Iterable[Row],
    seat: int,
    cell: int,
    heading: int,
    present: bool = True,
) -> tuple[Row, ...]:
    """Of what happened, what a player with this pose notices, as the events' specs say.

    An event with a place is seen by who has that cell in its window and is `present`. Whoever asks
    often keeps a `PerceptBuilder`.
    """
    return PerceptBuilder(env).visible(rows, seat, cell, heading, present)


def _from_ahead(down: int, right: int, heading: int) -> tuple[int, int]:
    """A displacement on the map as cells ahead and to the right of who has this heading."""
    return ((-down, right), (right, down), (down, -right), (-right, -down))[heading]


def _numbers(
    names: Sequence[str], specs: Sequence[OwnSpec], values: np.ndarray
) -> dict[str, int | float | str]:
    """Numbers by name, as they are told."""
    told = zip(names, specs, values.tolist(), strict=True)
    return {name: spec.told_as(value) for name, spec, value in told}


def _plain(value: Any) -> float | tuple[float, ...]:
    """One number, or several in a row."""
    numbers = np.asarray(value, float)
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.ravel().tolist())
