"""What a player outside compiled code is told before it decides: plain records, no text yet."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sociarium.core.actions import COMPASS
from sociarium.core.environment import Environment, View
from sociarium.core.events import Row, sentence
from sociarium.core.facets import ground_plan
from sociarium.core.specs import PlaneSpec

PROTOCOL = 1


class Heard(NamedTuple):
    """A text from another player; it is what that player wrote and nothing more."""

    step: int
    seat: int
    to: int
    text: str


class Offer(NamedTuple):
    """A skill by its name: what it asks for, the things it can be about, and what it does."""

    name: str
    asks: tuple[str, ...]
    things: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Pose:
    """Where a player stands on the map and faces; without a place while it is out of play."""

    row: int | None
    col: int | None
    heading: str


@dataclass(frozen=True)
class Percept:
    """One player's view before a step, what it saw happen and was told since it last decided."""

    env: Environment[Any, Any]
    seat: int
    step: int
    view: View  # of this player alone, as NumPy
    pose: Pose
    legal: tuple[str, ...]
    events: tuple[Row, ...] = ()
    messages: tuple[Heard, ...] = ()
    score: float = 0.0
    status: str = ""  # how the last skill ended
    skills: tuple[Offer, ...] = ()
    first: bool = False  # nothing was asked before, so that the rules are told

    @property
    def names(self) -> tuple[str, ...]:
        """What players are called: by their seats."""
        return tuple(f"player {seat}" for seat in range(self.env.players))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: every code of the view by its name."""
        spec = self.env.view_spec
        told: dict[str, Any] = {
            "protocol": PROTOCOL,
            "world": self.env.id,
            "seat": self.seat,
            "players": self.env.players,
            "step": self.step,
            "score": self.score,
            "pose": {"row": self.pose.row, "col": self.pose.col, "heading": self.pose.heading},
            "home": list(spec.ego_origin),
            "view": {
                plane.name: _named(plane, cells)
                for plane, cells in zip(spec.planes, self.view.cells, strict=True)
            },
            "own": {
                own.name: int(value) for own, value in zip(spec.own, self.view.own, strict=True)
            },
            "shared": {
                number.name: int(value)
                for number, value in zip(spec.shared, self.view.shared, strict=True)
            },
            "events": [
                {**row._asdict(), "text": sentence(row, self.env.event_specs, self.names)}
                for row in self.events
            ],
            "messages": [heard._asdict() for heard in self.messages],
            "actions": list(self.legal),
            "skills": [
                {**offer._asdict(), "asks": list(offer.asks), "things": list(offer.things)}
                for offer in self.skills
            ],
            "status": self.status,
        }
        if spec.social is not None and self.view.social is not None:
            told["social"] = {
                "own": {
                    plane.name: plane.codes[code]
                    for plane, code in zip(
                        spec.social.own, self.view.social.own.tolist(), strict=True
                    )
                },
                "contacts": [
                    {
                        plane.name: plane.codes[code]
                        for plane, code in zip(spec.social.ties, row, strict=True)
                    }
                    for row in self.view.social.ties.tolist()
                ],
            }
        if self.first:
            told["rules"] = dict(self.env.sheet.rules)
        return told


def _named(plane: PlaneSpec, cells: np.ndarray) -> list[list[Any]]:
    """The cells of a plane as names of what they show, or as numbers where it counts."""
    if plane.role == "goods":
        return cells.tolist()
    return [[plane.codes[code] for code in row] for row in cells.tolist()]


def pose(cell: int, heading: int, map_shape: tuple[int, int]) -> Pose:
    """The pose of a player on this cell."""
    rows, cols = map_shape
    here = 0 <= cell < rows * cols
    return Pose(cell // cols if here else None, cell % cols if here else None, COMPASS[heading])


def in_sight(env: Environment[Any, Any], cell: int, heading: int, row: int, col: int) -> bool:
    """Whether a place of the map is in the window of a player on this cell."""
    board, spec = ground_plan(env), env.view_spec
    rows, cols = board.shape
    if not 0 <= cell < rows * cols:
        return False
    down, right = row - cell // cols, col - cell % cols
    if board.window == "fixed":
        return True
    if board.wraps:
        down = (down + rows // 2) % rows - rows // 2
        right = (right + cols // 2) % cols - cols // 2
    ahead, aside = ((-down, right), (right, down), (down, -right), (-right, -down))[heading]
    at_row, at_col = spec.ego_origin[0] - ahead, spec.ego_origin[1] + aside
    return 0 <= at_row < spec.rows and 0 <= at_col < spec.cols


def witnessed(env: Environment[Any, Any], row: Row, seat: int, cell: int, heading: int) -> bool:
    """Whether a player notices an event, by what the event's spec says about who sees it."""
    visible = next(spec.visible for spec in env.event_specs if spec.name == row.kind)
    if visible in ("all", "nobody"):
        return visible == "all"
    if seat in (row.actor, row.target):
        return True
    if visible == "involved":
        return False
    if row.row < 0:
        return row.actor < 0 or row.target < 0
    return in_sight(env, cell, heading, row.row, row.col)
