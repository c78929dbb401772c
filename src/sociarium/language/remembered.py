"""A player's map in words: what it has seen of it, what lies where, and whom it met."""

from collections.abc import Mapping

from sociarium.core.facets import Board
from sociarium.core.percept import UNSEEN, KnownMap, Percept
from sociarium.core.specs import ViewSpec
from sociarium.language.phrases import Phrases
from sociarium.language.spoken import spoken

MOST_PLACES = 6  # of one kind of thing
MOST_KINDS = 10

Lying = dict[tuple[int, int], list[str]]  # names of things, by row and column


class MapWords:
    """Puts the maps of one world's players into words; what is in view now is told elsewhere."""

    def __init__(self, spec: ViewSpec, plan: Board, phrases: Phrases) -> None:
        grounds = [spec.planes[n] for n in spec.with_role("ground")]
        self._left_out: set[object] = {UNSEEN}
        if grounds:
            self._left_out |= {*grounds[0].codes[:2], *grounds[0].solid}
        self._absent = {plane.name: plane.codes[0] for plane in spec.planes}
        self._plan, self._say = plan, phrases

    def lines(self, percept: Percept) -> list[str]:
        """What a percept's map tells."""
        known, say = percept.map, self._say
        if known is None or percept.places:
            return []
        cells = sum(len(row) for row in known.seen)
        seen = sum(len([step for step in row if step >= 0]) for row in known.seen)
        percent = round(100 * seen / max(cells, 1))
        lines = [say("memory.explored", percent=percent, seen=seen, cells=cells)]
        lying = self._lying(known)
        lines += self._things(percept, known, lying)
        lines += self._regions(known, lying)
        for met in known.met:
            ago = percept.step - met.step
            if ago > 0:
                cell = say("cell", row=met.row, col=met.col)
                lines.append(say("memory.met", ago, name=met.name, cell=cell))
        return lines

    def _things(self, percept: Percept, known: KnownMap, lying: Lying) -> list[str]:
        """What lies out of view, seen most recently first."""
        found: dict[str, list[tuple[int, int, int]]] = {}
        for row, col in sorted(lying):
            ago = percept.step - known.seen[row][col]
            if 0 < ago <= percept.step:
                for what in lying[row, col]:
                    found.setdefault(what, []).append((ago, row, col))
        say, lines = self._say, []
        for what, places in list(found.items())[:MOST_KINDS]:
            places.sort()
            told = [
                say("memory.seen_ago", ago, where=say("cell", row=row, col=col))
                for ago, row, col in places[:MOST_PLACES]
            ]
            more = len(places) - len(told)
            if more:
                told.append(say("more", count=more))
            key = "memory.lies" if len(places) == 1 else "memory.lies_many"
            where = say("at.cell", cell=told[0]) if len(places) == 1 else say.semicolons(told)
            lines.append(say(key, len(places), what=spoken(what), where=where))
        return lines

    def _lying(self, known: KnownMap) -> Lying:
        """What there is in each cell that has anything."""
        found: Lying = {}
        absent = [self._left_out, *({0, self._absent.get(name)} for name in known.layers)]
        planes = (("", known.ground), *known.layers.items())
        for (name, plane), nothing in zip(planes, absent, strict=True):
            for row, line in enumerate(plane):
                if nothing.issuperset(line):
                    continue
                for col, code in enumerate(line):
                    if code not in nothing:
                        what = name if isinstance(code, int) else code
                        found.setdefault((row, col), []).append(what)
        return found

    def _regions(self, known: KnownMap, lying: Lying) -> list[str]:
        """Named parts of the map that have been seen, and what is known to lie in them."""
        say, lines, cols = self._say, [], self._plan.shape[1]
        for name, cells in self._plan.regions.items():
            seen = [divmod(cell, cols) for cell in cells]
            seen = [(row, col) for row, col in seen if known.seen[row][col] >= 0]
            if not seen:
                continue
            counts: dict[str, int] = {}
            for row, col in seen:
                for what in lying.get((row, col), ()):
                    counts[what] = counts.get(what, 0) + 1
            middle = sorted(seen)[len(seen) // 2]
            told = self._counted(counts) if counts else say("percept.empty")
            cell = say("cell", row=middle[0], col=middle[1])
            lines.append(say("memory.region", region=name, cell=cell, what=told))
        return lines

    def _counted(self, counts: Mapping[str, int]) -> str:
        return self._say.commas(
            self._say("memory.count", count=count, what=spoken(what))
            for what, count in counts.items()
        )
