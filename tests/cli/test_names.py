"""What stands in a world's name, arguments and charter, means the same to every command."""

import functools

import pytest

from sociarium import catalogue
from sociarium.charters.society import Society
from sociarium.cli import dilemma
from sociarium.cli.bench import BenchCommand
from sociarium.cli.bench_train import BenchTrain
from sociarium.cli.check import Check
from sociarium.cli.dilemma import Dilemma
from sociarium.cli.estimate import EstimateCommand
from sociarium.cli.info import Info
from sociarium.cli.main import COMMANDS
from sociarium.cli.match import MatchCommand
from sociarium.cli.measure import Measure
from sociarium.cli.oracle import Oracle
from sociarium.cli.play import PlayCommand
from sociarium.cli.study import command_class
from sociarium.cli.sweep import Sweep
from sociarium.cli.train import Train
from sociarium.cli.watch import Watch
from sociarium.cli.words import Words
from sociarium.core.errors import BadArgument
from sociarium.evaluation.analyses import BUILT_IN
from tests.evaluation.test_dilemma import judged
from tests.toys.meadow import Meadow

TAKING_A_WORLD = {
    "watch": Watch,
    "play": functools.partial(PlayCommand, text=True),
    "words": Words,
    "match": MatchCommand,
    "estimate": functools.partial(EstimateCommand, seats="llm:fake"),
    "measure": Measure,
    "info": Info,
    "check": Check,
    "bench": BenchCommand,
    "bench-train": functools.partial(BenchTrain, "ippo"),
    "train": functools.partial(Train, "ippo"),
    "sweep": functools.partial(Sweep, "ippo", grid=(("preference=selfish",),)),
    "study dilemma": Dilemma,
    **{f"study {name}": command_class(name) for name in BUILT_IN if name != "laws"},
    "study laws": functools.partial(command_class("laws"), grid="law.fine=1"),
    "oracle": functools.partial(Oracle, seats="idle*8", episodes=1),
}
TAKING_NONE = {"list", "doctor", "replay", "trace", "export", "fork", "reproduce"}
TAKING_NONE |= {"calls", "serve-local", "evaluate", "pack", "verify", "compare", "launch"}
UNDER_THEIR_OWN_CHARTERS = ("study institutions", "study contract", "study deterrence")


class Begun(Exception):
    """The command has made its worlds and would now play."""


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The arguments of every world and charter that is made; nothing is played."""
    monkeypatch.chdir(tmp_path)
    worlds, charters = [], []
    of_articles, of_worlds = catalogue._check_arguments, catalogue._check_numbers

    def article_noted(what, maker, arguments):
        charters.append(arguments)
        of_articles(what, maker, arguments)

    def world_noted(what, maker, arguments):
        worlds.append(arguments)
        of_worlds(what, maker, arguments)

    def begin(*_, **__):
        raise Begun

    monkeypatch.setattr(catalogue, "_check_arguments", article_noted)
    monkeypatch.setattr(catalogue, "_check_numbers", world_noted)
    for world in {entry.load() for entry in catalogue.worlds()} | {Society, Meadow}:
        monkeypatch.setattr(world, "params", begin)
    monkeypatch.setattr("sociarium.evaluation.experiments.execution.shuffled", begin)
    monkeypatch.setattr("sociarium.envs.frontier.frontier.Frontier._bounds", begin)
    return worlds, charters


def test_every_command_is_tried_or_takes_no_world():
    tried = {name.partition(" ")[0] for name in TAKING_A_WORLD}
    assert tried | TAKING_NONE == {*COMMANDS}


@pytest.mark.parametrize("command", TAKING_A_WORLD)
def test_a_world_is_made_with_the_arguments_in_its_name(command, made):
    name, argument = "harvest_open?map_seed=7", "map_seed"
    if command == "oracle":
        name, argument = "frontier_procedural?graph_seed=7", "graph_seed"
    with pytest.raises(Begun):
        TAKING_A_WORLD[command](name).run()
    worlds, _ = made
    assert worlds and [world.get(argument) for world in worlds] == [7] * len(worlds)


@pytest.mark.parametrize("command", TAKING_A_WORLD)
def test_a_world_is_made_under_the_charter_in_its_name_or_refused(command, made):
    world = "frontier_procedural" if command == "oracle" else "harvest_open"
    asked = TAKING_A_WORLD[command](f"{world}+contract?rounds=2")
    refused = command in UNDER_THEIR_OWN_CHARTERS
    with pytest.raises(BadArgument, match="names a charter") if refused else pytest.raises(Begun):
        asked.run()
    _, charters = made
    assert [charter.get("rounds") for charter in charters] == [2] * len(made[0]) * (not refused)


@pytest.mark.parametrize(
    "asked",
    [
        Watch("harvest_open?players=5", players=3),
        Watch("harvest_open?players=5", seats="random*3"),
        Measure("harvest_open?players=5", players=3),
        BenchCommand("harvest_open?tiles=1x3", players="14", same_density=True),
        Train("ippo", "harvest_open?players=5", players=3),
        Check("tests.toys.meadow:Meadow?players=5", players=3),
        MatchCommand("harvest_open+contract?rounds=2", charter="open"),
    ],
    ids=lambda asked: type(asked).__name__,
)
def test_what_contradicts_the_name_is_refused(asked, made):
    with pytest.raises(BadArgument, match="leave out one of them"):
        asked.run()


@pytest.mark.parametrize("name", ["frontier_easy?players=8", "frontier_easy?tiles=1x2"])
def test_an_oracle_refuses_arguments_that_its_bounds_are_not_for(name):
    with pytest.raises(BadArgument, match="own number of players"):
        Oracle(name).run()


def test_check_gives_a_strangers_world_the_arguments_in_its_name(made, monkeypatch):
    given = []
    monkeypatch.setattr(Meadow, "__init__", lambda self, players=3: given.append(players))
    with pytest.raises(Begun):
        Check("tests.toys.meadow:Meadow?players=5").run()
    assert given == [5]


def test_check_finds_a_world_whose_charter_has_a_colon_in_its_arguments(made):
    with pytest.raises(Begun):
        Check("coins+structure?kind=inequality,5:independent").run()
    assert [charter["kind"] for charter in made[1]] == ["inequality,5:independent"]


def test_figures_of_two_maps_are_kept_in_two_files(monkeypatch, tmp_path):
    monkeypatch.setattr(dilemma, "verdict", lambda world, **_: judged(len(world)))
    names = "harvest_open", "harvest_open?map_seed=7", "harvest_open?map_seed=7+open+speech?words=2"
    for number, name in enumerate(names):
        Dilemma(name, out=tmp_path / "dilemmas").run()
        assert len([*(tmp_path / "dilemmas").iterdir()]) == number + 1
