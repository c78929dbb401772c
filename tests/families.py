"""Which worlds stand for the others in everyday runs, one of each rule sheet; and all articles.

The other maps and tasks of a rule sheet are tried with `pytest -m slow`, before a release and when
`envs/` or `mechanics/` change.
"""

import pytest

from sociarium import catalogue
from sociarium.charters.clauses import done_by_players

FAMILIES = (
    "coins-v0",
    "harvest_open-v0",
    "clean_up-v0",
    "coop_mining-v0",
    "mushrooms-v0",
    "gift_refinement-v0",
    "pd_arena-v0",
    "overcooked-v0",
    "cuisine-v0",
    "matrix-v0",
    "commons-v0",
    "frontier_survival-v0",
)
WORLDS = tuple(entry.id for entry in catalogue.WORLDS)
ARTICLES = tuple(entry.name for entry in catalogue.ARTICLES)
WRITTEN = {  # articles that are nothing by their names alone
    "law": "law?{fine}",
    "constitution": "constitution?{fine}",
    "reputation": "law?{fine}+reputation",
    "mediation": "mediation?cast=idle,random",
}
SMALLEST = ("coins-v0", "frontier_easy-v0")  # of the dilemmas, of the frontier


def in_ci(names, often=FAMILIES):
    """The names as parameters of a test; those not among `often` are marked slow."""
    assert {*often} & {*names}
    return [n if n in often else pytest.param(n, marks=pytest.mark.slow) for n in names]


def charter_of(article, world, words=0):
    """The name of a charter of this article for a world, perhaps with so many words to say.

    Clauses are fines for the first thing that players of the world do.
    """
    fine = f"{done_by_players(world.event_specs)[0].name}=1"
    article = WRITTEN.get(article, article).format(fine=fine)
    if not words:
        return article
    return f"speech?words={words}" if article == "speech" else f"{article}+speech?words={words}"
