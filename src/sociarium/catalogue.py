"""The catalogue: every world and every article by name. Nothing is imported until asked for.

A world under a charter is written `clean_up+contract?rounds=3+speech?words=8`: the world, then the
articles in their order; all may have arguments.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass, replace
from dataclasses import fields as fields_of
from numbers import Integral
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np

from sociarium.core.code import load_code, names_code
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.core.extensions import extensions
from sociarium.core.queries import read_query, write_query
from sociarium.core.world_files import WORLD_FILES, read_world_file

if TYPE_CHECKING:
    from sociarium.charters.article import Article
    from sociarium.core.environment import Environment

_FORMS = {  # of arguments: what they are, and how that is said
    int: (Integral, "a whole number"),
    int | None: (Integral, "a whole number"),
    tuple[int, int]: (tuple, "two whole numbers, as in 2x3"),
}
PARAMS = "params"  # the argument that names a set of parameters, or a file of them
MOST_PLAYERS = 10_000_000
MOST_ARTICLES = 64  # in a file
LONGEST_SHOWN = 80  # characters of what somebody gave
_EXAMPLE = "WORLD?name=value&name=value, as in harvest_open?map_seed=7"


@dataclass(frozen=True)
class Entry:
    """A world's id, where it lives (`module:Class`), its fixed arguments, and who invented it.

    `cast` seats the players of a demonstration, `scripts` is the module of the world's scripted
    citizens, `crews` that of schedulers for its crews, `kind` the part of the catalogue it belongs
    to (in a dilemma there are cooperators and defectors), `asserts` what the SocialJax paper says
    makes defecting tempting: fear or greed, or nothing where it does not know the map.
    """

    id: str
    where: str
    players: int
    paper: str
    summary: str
    cast: str
    scripts: str = ""
    crews: str = ""
    asserts: str = ""
    kind: str = "dilemma"
    arguments: dict[str, Any] = field(default_factory=dict)
    charter: str = ""  # the one it is under, unless another is named
    sized_by: str = ""  # an argument that decides how many players there are, if one does

    @property
    def family(self) -> str:
        """The id without its version."""
        return self.id.rsplit("-v", 1)[0]

    @property
    def version(self) -> int:
        """The number after -v; it rises when behaviour changes."""
        return int(self.id.rsplit("-v", 1)[1])

    def load(self) -> "type[Environment[Any, Any]]":
        """The class behind the entry."""
        return load_code(self.where)


@dataclass(frozen=True)
class ArticleEntry:
    """An article's name, where it lives (`module:Class`), and its fixed arguments."""

    name: str
    where: str
    summary: str
    paper: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)

    def load(self) -> "type[Article[Any, Any]]":
        """The class behind the entry."""
        return load_code(self.where)


_GAMES, _CITIZENS = "sociarium.envs.dilemmas", "sociarium.players.scripted"
_JANSSEN = "Janssen et al., 2010; Perolat et al., 2017"


_ADASOCIETY = "Huang et al., 2024"


def _frontier(task: str, players: int, summary: str) -> Entry:
    return Entry(
        id=f"frontier_{task}-v0",
        where="sociarium.envs.frontier.frontier:Frontier",
        players=players,
        paper=_ADASOCIETY,
        summary=summary,
        cast=f"script:trader*{players}",
        scripts=f"{_CITIZENS}.frontier",
        kind="frontier",
        arguments={"task": task},
    )


def _mini_games() -> Iterator[Entry]:
    """AdaSociety's games: a task of the frontier under a charter."""
    games = (
        ("contract_easy", "easy", 4, "contract", "signer", "join groups, then make hammers"),
        ("contract_hard", "hard", 8, "contract", "signer", "join groups, then pass tools on"),
        (
            "negotiation_easy",
            "easy",
            4,
            "negotiation?steps=20",
            "negotiator",
            "bargain over shares",
        ),
        ("negotiation_hard", "hard", 8, "negotiation?steps=40", "negotiator", "bargain at length"),
        ("social_structure_easy", "easy", 4, "schedule", "loner", "structures come and go"),
        ("social_structure_hard", "hard", 8, "schedule", "loner", "structures on a larger land"),
        (
            "social_structure_reference",
            "thirteen",
            8,
            "schedule",
            "loner",
            "on the code's own land",
        ),
        (
            "exploration",
            "exploration",
            8,
            "open+speech?words=3",
            "random",
            "discover, talk and tie ties",
        ),
    )
    for name, task, players, charter, social_policy, summary in games:
        yield replace(
            _frontier(task, players, summary),
            id=f"{name}-v0",
            kind="society",
            charter=charter,
            cast=f"script:trader?social={social_policy}*{players}",
        )


def _harvest(map: str, players: int, summary: str, cast: str, asserts: str = "fear") -> Entry:
    return Entry(
        id=f"harvest_{map}-v0",
        where=f"{_GAMES}.harvest:Harvest",
        players=players,
        paper=_JANSSEN,
        summary=summary,
        cast=cast,
        scripts=f"{_CITIZENS}.harvest",
        asserts=asserts,
        arguments={"map": map},
    )


_MATRIX = Entry(
    id="matrix-v0",
    where="sociarium.envs.rounds.matrix:Matrix",
    players=2,
    paper="Tewolde et al., 2026",
    summary="everybody moves at once, and a table says what each is paid",
    cast="script:cooperator script:defector",
    scripts=f"{_CITIZENS}.matrix",
    kind="rounds",
    sized_by="game",
)
WORLDS = (
    Entry(
        id="coins-v0",
        where=f"{_GAMES}.coins:Coins",
        players=2,
        paper="Lerer and Peysakhovich, 2017",
        summary="take your own coins, or the other's at their cost",
        cast="script:cooperator script:defector",
        scripts=f"{_CITIZENS}.coins",
        asserts="fear",
    ),
    _harvest(
        "open",
        7,
        "apples regrow only near apples; one open orchard",
        "script:cooperator*6 script:defector",
    ),
    _harvest(
        "closed",
        7,
        "two rooms with one entrance each, which one can defend",
        "script:cooperator*6 script:defector",
    ),
    _harvest(
        "partnership",
        7,
        "two rooms with two entrances each, which two can defend",
        "script:cooperator*6 script:defector",
    ),
    _harvest(
        "six_trees",
        4,
        "six trees in an open field, for few players",
        "script:cooperator*3 script:defector",
        asserts="",
    ),
    _harvest(
        "one_tree",
        3,
        "one tree in a small yard that all must share",
        "script:cooperator*2 script:defector",
        asserts="",
    ),
    Entry(
        id="clean_up-v0",
        where=f"{_GAMES}.clean_up:CleanUp",
        players=7,
        paper="Hughes et al., 2018",
        summary="apples grow only while somebody cleans the river",
        cast="script:cooperator*3 script:defector*4",
        scripts=f"{_CITIZENS}.clean_up",
        asserts="greed",
    ),
    Entry(
        id="coop_mining-v0",
        where=f"{_GAMES}.coop_mining:CoopMining",
        players=6,
        paper="Agapiou et al., 2022",
        summary="iron for one, or gold for those who strike it together",
        cast="script:cooperator*4 script:defector*2",
        scripts=f"{_CITIZENS}.coop_mining",
        asserts="greed",
    ),
    Entry(
        id="mushrooms-v0",
        where=f"{_GAMES}.mushrooms:Mushrooms",
        players=5,
        paper="Agapiou et al., 2022",
        summary="eat for yourself, or for the others and the wood",
        cast="script:cooperator*4 script:defector",
        scripts=f"{_CITIZENS}.mushrooms",
        asserts="fear",
    ),
    Entry(
        id="gift_refinement-v0",
        where=f"{_GAMES}.gift_refinement:GiftRefinement",
        players=5,
        paper="Agapiou et al., 2022",
        summary="a token given away grows into three, in somebody else's bag",
        cast="script:cooperator*4 script:defector",
        scripts=f"{_CITIZENS}.gift_refinement",
        asserts="fear",
    ),
    Entry(
        id="pd_arena-v0",
        where=f"{_GAMES}.pd_arena:PDArena",
        players=4,
        paper="Vezhnevets et al., 2020",
        summary="gather cooperation or defection, then meet somebody",
        cast="script:cooperator*3 script:defector",
        scripts=f"{_CITIZENS}.pd_arena",
        asserts="greed",
    ),
    Entry(
        id="overcooked-v0",
        where="sociarium.envs.kitchens.overcooked:Overcooked",
        players=2,
        paper="Carroll et al., 2019",
        summary="two cooks, onions, one pot: soups pay both",
        cast="script:cook script:cook",
        scripts=f"{_CITIZENS}.overcooked",
        kind="kitchen",
    ),
    Entry(
        id="cuisine-v0",
        where="sociarium.envs.kitchens.cuisine:Cuisine",
        players=2,
        paper="Gong et al., 2023",
        summary="orders come in, and many hands share tools, recipes and time",
        cast="script:greedy*2",
        scripts=f"{_CITIZENS}.cuisine",
        crews=f"{_CITIZENS}.cuisine_crew",
        kind="kitchen",
    ),
    _MATRIX,
    Entry(
        id="commons-v0",
        where="sociarium.envs.rounds.commons:Commons",
        players=8,
        paper="Piatti et al., 2024",
        summary="everybody takes from one stock, which regrows while enough is left",
        cast="script:sustainable*7 script:greedy",
        scripts=f"{_CITIZENS}.commons",
        kind="rounds",
    ),
    _frontier("easy", 4, "hammers are made by some and worth most to others"),
    _frontier("hard", 8, "tools change hands twice before anybody can take iron"),
    _frontier("exploration", 8, "a synthesis tree to discover, from wood to totems"),
    replace(
        _frontier("procedural", 8, "a drawn graph of recipes, with names that mean nothing"),
        where="sociarium.envs.frontier.procedural:Procedural",
        arguments={},
    ),
    _frontier("survival", 6, "work, eat, and keep a torch burning while beasts roam"),
)
SOCIETIES = tuple(_mini_games())
DESCRIBED = {  # families of worlds that a file can describe: who reads it, as which argument
    "frontier": (
        "sociarium.envs.frontier.task:players_and_summary",
        "task",
        _frontier("easy", 1, ""),
    ),
    "matrix": ("sociarium.envs.rounds.matrix:players_and_summary", "game", _MATRIX),
}


_CHARTERS = "sociarium.charters"
_DYNAMIC = "inequality,30:independent,60:overlapping"

ARTICLES = (
    ArticleEntry("none", f"{_CHARTERS}.none:NoCharter", "everybody keeps what it earns"),
    ArticleEntry(
        "structure",
        f"{_CHARTERS}.structure:Structure",
        "who shares points and sight with whom is given",
        _ADASOCIETY,
    ),
    ArticleEntry(
        "schedule",
        f"{_CHARTERS}.structure:Structure",
        "given structures, one after the other",
        _ADASOCIETY,
        {"kind": _DYNAMIC},
    ),
    ArticleEntry(
        "contract",
        f"{_CHARTERS}.contract:Contract",
        "before the work everybody joins a group, and groups share equally",
        _ADASOCIETY,
    ),
    ArticleEntry(
        "negotiation",
        f"{_CHARTERS}.negotiation:Negotiation",
        "before the work pairs bargain over shares, and coalitions grow",
        _ADASOCIETY,
    ),
    ArticleEntry(
        "open",
        f"{_CHARTERS}.open:Open",
        "ties and groups can be changed at every step",
        _ADASOCIETY,
    ),
    ArticleEntry(
        "hierarchy",
        f"{_CHARTERS}.hierarchy:Hierarchy",
        "groups vote themselves into unions, and points flow through both",
    ),
    ArticleEntry(
        "speech", f"{_CHARTERS}.speech:Speech", "words and texts, to one player or to all"
    ),
    ArticleEntry(
        "pacts", f"{_CHARTERS}.pacts:Pacts", "players draft clauses and bind themselves to them"
    ),
    ArticleEntry("law", f"{_CHARTERS}.law:Law", "clauses bind everybody from the start"),
    ArticleEntry(
        "sanction",
        f"{_CHARTERS}.sanction:Sanction",
        "players punish and reward one another at a cost",
        "Fehr and Gächter, 2002",
    ),
    ArticleEntry(
        "reputation",
        f"{_CHARTERS}.reputation:Reputation",
        "a public score of clauses kept and broken",
        "Nowak and Sigmund, 1998",
    ),
    ArticleEntry(
        "constitution",
        f"{_CHARTERS}.constitution:Constitution",
        "clauses are enacted and repealed by vote",
    ),
    ArticleEntry(
        "agreements",
        f"{_CHARTERS}.agreements:Agreements",
        "players propose, approve and sign transfers for what they will do",
        "Haupt et al., 2024",
    ),
    ArticleEntry(
        "mediation",
        f"{_CHARTERS}.mediation:Mediation",
        "whoever delegates is played by a mediator that players choose",
        "Ivanov et al., 2023",
    ),
    ArticleEntry(
        "visibility",
        f"{_CHARTERS}.visibility:Visibility",
        "names, a public ledger, totals only, or nobody knows who is who",
    ),
    ArticleEntry("norm", f"{_CHARTERS}.norm:Norm", "a posted sentence that nobody enforces"),
)


def worlds() -> tuple[Entry, ...]:
    """Every world and every named society, those of other installed packages last."""
    return (*WORLDS, *SOCIETIES, *extensions("worlds").values())


def articles() -> tuple[ArticleEntry, ...]:
    """Every article, those of other installed packages last."""
    return (*ARTICLES, *extensions("articles").values())


def find_article(name: str) -> ArticleEntry:
    """The entry of an article."""
    name, _ = _asked(name)
    for entry in articles():
        if entry.name == name:
            return entry
    raise UnknownName("article", name, tuple(entry.name for entry in articles()))


def find(name: str) -> Entry:
    """The entry of an id, of its newest version without one; or of what a file describes."""
    name, _ = _asked(name.partition("+")[0])
    if name.endswith(WORLD_FILES):
        return _described_in(name)
    if names_code(name):
        return _written_in(name)
    listed = worlds()
    exact = [entry for entry in listed if entry.id == name]
    family = [entry for entry in listed if entry.family == name]
    if exact:
        return exact[0]
    if family:
        return max(family, key=lambda entry: entry.version)
    known = tuple(entry.id for entry in listed)
    raise UnknownName("world", name, known, "`sociarium list` shows them all.")


def full_name(name: str) -> str:
    """The name with its version, its arguments and parameters, and its charter.

    A file of parameters, as in `clean_up?params=my.toml`, is replaced by what is in it.
    """
    world, plus, charter = name.partition("+")
    _, mark, query = world.partition("?")
    asked = read_query(query, _EXAMPLE)
    if not asked.get(PARAMS, "").endswith(WORLD_FILES):
        return find(name).id + mark + query + plus + charter
    table = read_world_file(asked.pop(PARAMS))
    from_file = {key: _text(value) for key, value in _flat(table)}
    return find(name).id + write_query({**from_file, **asked}) + plus + charter


def environment(env: "Environment[Any, Any] | str") -> "Environment[Any, Any]":
    """The environment itself, or the one that a name means."""
    return make(env) if isinstance(env, str) else env


def short_name(name: str) -> str:
    """The full name without its version; arguments and charter stay."""
    return re.sub(r"-v\d+(?=[?+]|$)", "", full_name(name), count=1)


def under(name: str, charter: str) -> str:
    """The name of a world under this charter; a name that has another is refused."""
    world, plus, named = name.partition("+")
    if plus and named != charter:
        raise BadArgument(
            f"{name!r} names a charter, and {charter!r} would take its place; leave out one of them"
        )
    return f"{world}+{charter}"


def without(name: str, argument: str) -> str:
    """The name of the world that does not ask for this argument."""
    world, plus, charter = name.partition("+")
    world, _, query = world.partition("?")
    asked = read_query(query, _EXAMPLE)
    asked.pop(argument, None)
    return world + write_query(asked) + plus + charter


def arguments_known(name: str) -> tuple[str, ...]:
    """The arguments of the constructor of a world; its other arguments are parameters."""
    return tuple(inspect.signature(find(name).load()).parameters)


def arguments_of(name: str, **given: object) -> dict[str, Any]:
    """What a world's name asks for and what is given beside it; contradictions are refused."""
    _, asked = _asked(name.partition("+")[0])
    for argument in asked.keys() & given.keys():
        if asked[argument] != given[argument]:
            raise BadArgument(
                f"{name!r} asks for {argument}={asked[argument]}, but {argument}={given[argument]} "
                "is given beside it; leave out one of them"
            )
    return {**asked, **given}


def make(
    name: str, *, players: int | None = None, charter: str = "", **arguments: object
) -> "Environment[Any, Any]":
    """The world of this name; `players` and other constructor arguments replace the defaults.

    Arguments can also be in the name, as in `harvest_open?map_seed=7&tiles=2x3`, and so can
    parameters, as in `clean_up?waste_chance=0.4` or `clean_up?params=socialjax`, and a charter, as
    in `clean_up+contract?rounds=3`. `params()` of the environment then returns these values.
    """
    entry = find(name)
    if players is not None:
        arguments["players"] = players
    if charter:
        name = under(name, charter)
    name = full_name(name)
    asked = arguments_of(name, **arguments)
    maker = _environment_class(entry)
    known = inspect.signature(maker).parameters
    overrides = {key: _listed(value) for key, value in asked.items() if key not in known}
    sized = not entry.players or entry.sized_by in asked
    usual = {} if sized else {"players": entry.players}
    chosen = {**usual, **entry.arguments, **{k: v for k, v in asked.items() if k in known}}
    world, _, named = name.partition("+")
    _check_numbers(entry.id, maker, chosen)
    if not 1 <= chosen.get("players", 1) <= MOST_PLAYERS:
        raise BadArgument(f"players is 1 to {MOST_PLAYERS:,}; given {chosen['players']}")
    env = maker(**chosen)
    given = {key: _text(value) for key, value in arguments.items() if key in overrides}
    env.id = _with_query(world, given)
    articles = {key: overrides.pop(key) for key in [*overrides] if "." in key}
    _set_params(env, entry.id, tuple(known), overrides)
    if named or entry.charter:
        society = _society(env, named or entry.charter)
        society.id = f"{env.id}+{named}" if named else env.id
        if articles:
            society.set_params(**articles)
        return society
    if articles:
        raise UnknownName(f"parameter of {entry.id}", next(iter(articles)), _names_in(env))
    return env


def _environment_class(entry: Entry) -> "type[Environment[Any, Any]]":
    maker = entry.load()
    kind = load_code("sociarium.core.environment:Environment")
    if not (isinstance(maker, type) and issubclass(maker, kind)):
        raise BadArgument(f"{entry.id} is no class of environments; given {maker!r}")
    return maker


def _set_params(
    env: "Environment[Any, Any]", what: str, arguments: tuple[str, ...], overrides: dict[str, Any]
) -> None:
    """Sets parameters by name; a name that is neither parameter nor argument is refused."""
    if not overrides:
        return
    names = _names_in(env)
    for name in overrides:
        if name != PARAMS and name not in names:
            raise UnknownName(f"argument or parameter of {what}", name, (*arguments, *names))
    env.set_params(**overrides)


def _names_in(env: "Environment[Any, Any]") -> tuple[str, ...]:
    return load_code("sociarium.core.params:parameter_names")(env.params())


def _with_query(name: str, more: dict[str, str]) -> str:
    """The name of a world that asks for more."""
    world, _, query = name.partition("?")
    return world + write_query({**read_query(query, _EXAMPLE), **more})


def with_params(name: str, params: str) -> str:
    """The name of a world with a named set of parameters or a file of them."""
    world, plus, charter = name.partition("+")
    return _with_query(world, {PARAMS: params}) + plus + charter


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of nested tables, with dotted names."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _text(value: Any) -> str:
    """A parameter as it is written in a name."""
    if isinstance(value, str):
        return value
    return ",".join(f"{x:.9g}" for x in np.ravel(np.asarray(value, float)))


def _listed(value: Any) -> Any:
    """A parameter from a name: several values have commas between them."""
    if isinstance(value, str) and "," in value:
        return tuple(_read(one) for one in value.split(","))
    return value


def _society(world: "Environment[Any, Any]", charter: str) -> "Environment[Any, Any]":
    """A world under the charter that these words name."""
    society = load_code(f"{_CHARTERS}.society:Society")
    articles = [article for name in charter.split("+") for article in _articles(name)]
    for article in articles:
        article.seat(lambda name: load_code("sociarium.players.roster:script")(name, world))
    return society(world, *articles)


def _articles(name: str) -> "list[Article[Any, Any]]":
    """The article that these words name, or all that a file describes."""
    if name.endswith(WORLD_FILES):
        return [_article(**article) for article in read_charter(name)]
    word, asked = _asked(name)
    return [_article(word, **asked)]


def read_charter(path: str | Path) -> list[dict[str, Any]]:
    """The articles that a file describes: each with its `name` and its arguments.

    Where an argument can be several things, they are a list, as in `clauses = ["...", "..."]`.
    """
    table = read_world_file(path)
    articles = table.get("article")
    if (
        set(table) != {"article"}
        or not isinstance(articles, list)
        or not 1 <= len(articles) <= MOST_ARTICLES
        or not all(isinstance(a, dict) and isinstance(a.get("name"), str) for a in articles)
    ):
        raise BadArgument(
            f"{path} must describe a charter by its articles, each with a name and at most "
            f"{MOST_ARTICLES} of them, as in\n\n"
            '[[article]]\nname = "law"\nclauses = ["whoever zaps pays its victim 5"]\n\n'
            f"given {', '.join(map(repr, table)) or 'nothing'}"
        )
    return articles


def _article(name: str, **asked: Any) -> "Article[Any, Any]":
    entry = find_article(name)
    maker = entry.load()
    known = inspect.signature(maker).parameters
    numbers = get_type_hints(maker.defaults).get("return")
    fields = [one.name for one in fields_of(numbers)] if is_dataclass(numbers) else []
    overrides = {key: asked.pop(key) for key in [*asked] if key in fields and key not in known}
    chosen = {**entry.arguments, **asked}
    _check_arguments(f"article {entry.name}", maker, chosen)
    known = {**inspect.signature(maker).parameters, **inspect.signature(maker.named).parameters}
    for argument, given in chosen.items():
        if argument in known and not _fits(given, known[argument].annotation):
            said = _said(known[argument].annotation)
            shown = repr(given)[:LONGEST_SHOWN]
            raise BadArgument(f"{argument} of article {entry.name} is {said}; given {shown}")
    article = maker.named(**chosen)
    article.param_overrides = {key: _listed(value) for key, value in overrides.items()}
    return article


def _fits(given: Any, annotation: Any) -> bool:
    """Whether an argument is one of the plain things that an annotation allows."""
    allowed = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    if bool in allowed:
        return given in (0, 1) and isinstance(given, bool | int)
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    tried = {
        int: whole and abs(int(given)) < 2**31,
        float: whole or (isinstance(given, float) and math.isfinite(given)),
        str: isinstance(given, str),
        list[str]: isinstance(given, list) and all(isinstance(one, str) for one in given),
        type(None): given is None,
    }
    return any(tried.get(kind, True) for kind in allowed)


def _said(annotation: Any) -> str:
    """What an annotation allows, in words."""
    allowed = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    if bool in allowed:
        return "0 or 1"
    if float in allowed:
        return "a number"
    words = {int: "a whole number", str: "a text", list[str]: "a list of texts"}
    return " or ".join(words[kind] for kind in allowed if kind in words)


def _check_arguments(what: str, maker: Callable[..., Any], chosen: dict[str, Any]) -> None:
    parameters = inspect.signature(maker).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    known = tuple(parameters)
    for argument in chosen:
        if argument not in known:
            raise UnknownName(f"argument of {what}", argument, known)


def _check_numbers(what: str, maker: type, chosen: dict[str, Any]) -> None:
    """Refuses anything else where a whole number or two of them belong."""
    known, choices = inspect.signature(maker).parameters, choices_of(maker)
    for argument, given in chosen.items():
        kind, _ = _FORMS.get(known[argument].annotation, (object, ""))
        if given is not None and not isinstance(given, kind):
            raise BadArgument(f"{argument} of {what} is {choices[argument]}; given {given!r}")


def choices_of(maker: type) -> dict[str, str]:
    """What each argument of a constructor can be, in words; nothing where that is not known."""
    told = getattr(maker, "choices", {})
    return {
        name: told.get(name, _FORMS.get(known.annotation, (object, ""))[1])
        for name, known in inspect.signature(maker).parameters.items()
    }


def _asked(name: str) -> tuple[str, dict[str, Any]]:
    """A world's name and the arguments that follow it."""
    world, _, query = name.partition("?")
    asked = read_query(query, _EXAMPLE)
    return world, {argument: _read(value) for argument, value in asked.items()}


def _read(value: str) -> Any:
    """A number, two whole ones as in 2x3, or text."""
    if re.fullmatch(r"-?\d+", value):
        return int(value)
    if re.fullmatch(r"-?\d*\.\d+|-?\d+(\.\d+)?e-?\d{1,2}", value):
        return float(value)
    sizes = re.fullmatch(r"(\d+)x(\d+)", value)
    return (int(sizes[1]), int(sizes[2])) if sizes else value


def _written_in(name: str) -> Entry:
    """The entry of an environment class in a file or module of Python."""
    return Entry(
        id=name,
        where=name,
        players=0,  # as many as the class says
        paper="",
        summary=(load_code(name).__doc__ or "").strip().partition("\n")[0],
        cast="random",
        kind="own",
    )


def _described_in(path: str) -> Entry:
    """The entry of a world that a file describes, which names its family as `world`."""
    family = read_world_file(path).get("world")
    if family not in DESCRIBED:
        raise BadArgument(
            f"{path} must say which world it describes, as in world = "
            f'"{next(iter(DESCRIBED))}"; known are {", ".join(DESCRIBED)}; given {family!r}'
        )
    where, argument, like = DESCRIBED[family]
    players, summary = load_code(where)(path)
    cast = " ".join(f"{seat}*{players}" for seat in (like.cast.partition("*")[0],))
    return replace(
        like,
        id=path,
        players=players,
        summary=summary,
        cast=cast,
        paper="",
        arguments={argument: path},
    )
