"""Where something is, in words: from where one stands, by the cells of the map, or by places."""

from collections.abc import Mapping
from typing import Literal

from sociarium.core.actions import COMPASS
from sociarium.core.percept import Percept
from sociarium.language.phrases import Phrases
from sociarium.language.sightings import Sighting

Reference = Literal["self", "map"]  # told from oneself, or by rows and columns of the map


class Whereabouts:
    """Puts the cells of one percept's window into words.

    By the `map` where the percept tells its player where it is, or shows a whole board; else, or if
    told so, from oneself. `regions` name some cells of the map.
    """

    def __init__(
        self,
        percept: Percept,
        home: tuple[int, int] | None,
        phrases: Phrases,
        reference: Reference = "map",
        regions: Mapping[int, str] | None = None,
        shape: tuple[int, int] = (0, 0),
        wraps: bool = False,
    ) -> None:
        self._percept, self._home, self._say = percept, home, phrases
        self._regions, self._shape, self._wraps = regions or {}, shape, wraps
        pose = percept.pose
        self.located = percept.window == "fixed" or (
            pose is not None and pose.row is not None and home is not None
        )
        self._by_map = self.located and (reference == "map" or home is None)

    def words(self, sighting: Sighting, listed: bool = False) -> str:
        """Where a sighting is; `listed` among other places, or alone."""
        if self._percept.places:
            names = self._percept.places[sighting.col : sighting.last_col + 1]
            return self._say("at.place", place=self._say.all_of(names))
        if self._by_map:
            return self._on_map(sighting, listed)
        return self._from_self(sighting)

    def cell_words(self, row: int, col: int) -> str:
        """A cell of the map."""
        return self._say("cell", row=row, col=col)

    def cell(self, row: int, col: int) -> tuple[int, int]:
        """The row and the column of the map of a cell of the window, for who is located."""
        percept = self._percept
        if percept.window == "fixed" or percept.pose is None or self._home is None:
            return row, col
        ahead, right = self._home[0] - row, col - self._home[1]
        turned = COMPASS.index(percept.pose.heading) if percept.window == "turns" else 0
        down, along = ((-ahead, right), (right, ahead), (ahead, -right), (-right, -ahead))[turned]
        found_row, found_col = (percept.pose.row or 0) + down, (percept.pose.col or 0) + along
        if self._wraps:
            return found_row % self._shape[0], found_col % self._shape[1]
        return found_row, found_col

    def _on_map(self, sighting: Sighting, listed: bool = False) -> str:
        """By the map; what crosses the edge of a map that wraps around is told in parts."""
        runs: list[list[tuple[int, int]]] = []
        for cell in dict.fromkeys(self.cell(row, col) for row, col in sighting.each_cell):
            beside = runs and abs(runs[-1][-1][0] - cell[0]) + abs(runs[-1][-1][1] - cell[1]) == 1
            if beside:
                runs[-1].append(cell)
            else:
                runs.append([cell])
        return self._say.all_of(self._run(sorted(run), listed) for run in runs)

    def _run(self, cells: list[tuple[int, int]], listed: bool) -> str:
        """Cells side by side, and the part of the map in which all of them are."""
        where = self.cell_words(*cells[0])
        if len(cells) > 1:
            key = "cells" if listed else "at.cells"
            where = self._say(key, cell=where, last=self.cell_words(*cells[-1]))
        elif not listed:
            where = self._say("at.cell", cell=where)
        regions = {self._regions.get(row * self._shape[1] + col) for row, col in cells}
        region = regions.pop() if len(regions) == 1 else None
        return where if region is None else self._say("at.region", where=where, region=region)

    def _from_self(self, sighting: Sighting) -> str:
        if self._home is None:
            return self._on_map(sighting, listed=True)
        turns = self._percept.window == "turns"
        along = [
            self._steps(self._home[0] - row, *_ALONG[turns])
            for row in (sighting.row, sighting.last_row)
        ]
        across = [
            self._steps(col - self._home[1], *_ACROSS[turns])
            for col in (sighting.col, sighting.last_col)
        ]
        if along[0] == along[1] and across[0] == across[1]:
            if along[0] and across[0]:
                return self._say("at.both", along=along[0], across=across[0])
            return along[0] or across[0] or self._say("at.here")
        same, (first, last) = (along[0], across) if along[0] == along[1] else (across[0], along)
        level = self._say("at.level")
        key = "at.run" if same else "at.run_here"
        return self._say(key, same=same, first=first or level, last=last or level)

    def _steps(self, count: int, forth: str, back: str) -> str:
        return self._say(forth if count > 0 else back, count=abs(count)) if count else ""


_ALONG = (("at.north", "at.south"), ("at.ahead", "at.behind"))
_ACROSS = (("at.east", "at.west"), ("at.right", "at.left"))
