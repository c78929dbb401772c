"""Episodes in which host players decide (language models, agents): matches, each in a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sociarium.arena.match import Match
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.play_many import play_many
from sociarium.arena.replay import Replay
from sociarium.arena.seating import Chair
from sociarium.core.environment import Environment
from sociarium.core.errors import CannotRead
from sociarium.core.manifest import MANIFEST, read_manifest
from sociarium.core.record import Record
from sociarium.evaluation.experiments.cells import PlayedCell
from sociarium.language.models.runtime import current_runtime
from sociarium.players.roster import Seat
from sociarium.views.progress import OnProgress, silent

MATCHES = "matches"  # the folder of matches in a store
MOST_AT_ONCE = 32


@dataclass(frozen=True)
class HostedEpisode:
    """An episode with host players: its seats, draws, parameters and steps."""

    env: Environment[Any, Any]
    params: Any
    chairs: tuple[Chair, ...]
    seed: int
    lane: int
    steps: int | None
    folder: Path | None = None  # keeps the match; without it calls are not recorded

    def match(self) -> Match | None:
        """The match: new, resumed where it was stopped, or None if it is finished."""
        if self.folder is None:
            terms = Terms(steps=self.steps, lane=self.lane)
            return terms.match(self.env, self.chairs, self.seed, params=self.params)
        place = MatchFolder(self.folder)
        if (self.folder / MANIFEST).exists():
            if read_manifest(self.folder).get("finished"):
                return None
            return place.resumed(silent, True, {}, env=self.env, params=self.params)
        terms = Terms(steps=self.steps, lane=self.lane, calls="record")
        place.claim()
        seats = " ".join(map(str, self.chairs))
        match = terms.match(self.env, seats, self.seed, silent, place, params=self.params)
        place.begin(match, self.env.id, seats, self.seed, terms)
        return match

    def record(self, match: Match | None) -> Record:
        """The record of the finished match."""
        if self.folder is None:
            assert match is not None
            return match.record()
        manifest = read_manifest(self.folder)
        if not manifest.get("finished"):
            why = manifest.get("paused") or "it was stopped"
            raise CannotRead(f"{self.folder} is not over: {why}. Run the same command to continue")
        return MatchFolder(self.folder).record()


def play_matches(
    episodes: Sequence[HostedEpisode],
    events: Sequence[str],
    gauges: Sequence[str],
    on_progress: OnProgress = silent,
) -> list[PlayedCell]:
    """Plays these episodes, as many at once as the language models answer."""
    matches = [one.match() for one in episodes]
    limit = max_concurrent_matches([one.chairs for one in episodes])
    play_many([one for one in matches if one is not None], limit=limit, on_progress=on_progress)
    pairs = zip(episodes, matches, strict=True)
    return [_cell(one, one.record(match), events, gauges) for one, match in pairs]


def _cell(
    one: HostedEpisode, record: Record, events: Sequence[str], gauges: Sequence[str]
) -> PlayedCell:
    episode = Replay(one.env, record).episode()[0]

    def total(payoffs: np.ndarray) -> list[float]:
        """Summed step by step in single precision, as compiled programs do."""
        return np.cumsum(payoffs, axis=0, dtype=np.float32)[-1].tolist()

    def caused(name: str) -> list[float]:
        return episode.events.by_actor(episode.players, name, values=True).tolist()

    asked = record.page.asked
    return PlayedCell(
        raw=total(episode.raw),
        distributed=total(episode.distributed),
        reward=total(episode.reward),
        length=len(episode),
        events={name: caused(name) for name in events},
        gauges={name: float(episode.gauges[name][-1]) for name in gauges},
        decisions=len(asked),
        failures=sum(bool(row.failure) for row in asked),
    )


def max_concurrent_matches(
    lineups: Sequence[Sequence[Chair]], in_turns: bool = False, most: int = MOST_AT_ONCE
) -> int:
    """The number of matches, at most `most`, that their language models can answer at once.

    More would wait for a place until their deadline. Fakes answer any number. With `in_turns` one
    player of a match is asked at a time.
    """
    models = current_runtime().models
    found = [most]
    for chairs in lineups:
        asking, slots = 0, []
        for chair in chairs:
            if not isinstance(chair, Seat) or chair.kind != "llm":
                continue
            named = {chair.ref or models.roles.get("act", ""), *dict(chair.options).values()}
            known = [models.models[name].max_in_flight for name in named if name in models.models]
            asking, slots = asking + bool(known), [*slots, *known]
        if slots:
            found.append(max(min(slots) // (1 if in_turns else asking), 1))
    return min(found)
