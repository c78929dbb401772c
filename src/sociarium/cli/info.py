"""`sociarium info NAME`."""

import inspect
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sociarium
from sociarium.catalogue import choices_of, find
from sociarium.charters.society import Society
from sociarium.cli.checks import World, WorldCommand
from sociarium.core.actions import action_names
from sociarium.core.environment import compiled
from sociarium.core.facets import Cooperation, Places, find_facet, ground_plan
from sociarium.core.params import parameter, parameter_names
from sociarium.core.specs import SocialSpec
from sociarium.players import roster
from sociarium.players.scripted.known import scripts
from sociarium.views import terminal

LISTED = 8  # numbers of a table that are shown one by one


@dataclass(frozen=True)
class Info(WorldCommand):
    """Show one world: its rules, a map, its numbers, and what players see and do."""

    world: World  # catalogue name, e.g. clean_up
    players: int | None = None  # how many, instead of the default
    json: bool = False  # one JSON object instead of text

    def run(self) -> None:
        """Prints the page."""
        env = sociarium.make(self.world, players=self.players)
        params = env.params()
        if self.json:
            print(json.dumps(page(env, params)))
            return
        console = Console()
        console.print(f"[bold]{env.id}[/bold]  {find(self.world).paper}\n")
        console.print(f"{env.sheet.title}: {env.sheet.summary}.\n", highlight=False)
        rules = Table(box=None, show_header=False, pad_edge=False)
        for number, rule in env.sheet.rules.items():
            rules.add_row(number, rule)
        console.print(rules, highlight=False)
        for sentence in env.sheet.law:
            console.print(f"[bold]Law[/bold]  {sentence}", highlight=False)
        for departure in env.sheet.departures:
            console.print(departure, style="dim", highlight=False)
        state = compiled(env, "reset")(sociarium.key(0), params)
        console.print()
        console.print(terminal.text(env.scene(state, params), console.is_terminal))
        spec = env.view_spec
        names = ", ".join(action_names(env.actions))
        console.print(f"\n[bold]Actions[/bold]  {names}", highlight=False)
        console.print(f"[bold]View[/bold]     {window(env)}", highlight=False)
        for plane in spec.planes:
            shown = ", ".join(plane.codes[:8]) + (", ..." if len(plane.codes) > 8 else "")
            console.print(f"           {plane.name}: {shown}", highlight=False)
        if spec.own:
            own = ", ".join(number.name for number in spec.own)
            console.print(f"           own numbers: {own}", highlight=False)
        if spec.shared:
            shared = ", ".join(number.name for number in spec.shared)
            console.print(f"           numbers that all see: {shared}", highlight=False)
        for about, planes in (told(spec.social) or {}).items():
            console.print(f"           about {about}: {', '.join(planes)}", highlight=False)
        console.print(f"[bold]Events[/bold]   {_events(env)}", highlight=False)
        gauges = ", ".join(f"{gauge.name} ({gauge.meaning})" for gauge in env.gauge_specs)
        console.print(f"[bold]Gauges[/bold]   {gauges}", highlight=False)
        cooperation = find_facet(env, Cooperation)
        if cooperation:
            console.print(f"[bold]Coop.[/bold]    {cooperation.meaning}", highlight=False)
        names = ", ".join(roster.script_names(env))
        console.print(f"[bold]Scripts[/bold]  {names}\n", highlight=False)
        table = Table("parameter", "value", box=None)
        for name, value in numbers(params).items():
            table.add_row(name, str(value))
        console.print(table)
        console.print("\nChange any of them: env.params(name=value).", style="dim", highlight=False)
        console.print("\n[bold]Arguments[/bold]")
        asked, known = Table("name", "default", "can be", box=None), arguments(env)
        for name, argument in known.items():
            default = argument["default"]
            default = "x".join(map(str, default)) if isinstance(default, tuple) else default
            asked.add_row(name, "none" if default is None else str(default), argument["can_be"])
        console.print(asked, highlight=False)
        family = find(self.world).family
        given = next((n for n in known if n.endswith("_seed")), "players")
        console.print(
            f'\nGive any of them in the name: "{family}?{given}=3".', style="dim", highlight=False
        )


def _events(env: Any) -> str:
    """Events by name, and by the words that a law can use for what players do."""
    told = ((event.name, event.does[0] if event.does else "") for event in env.event_specs)
    return ", ".join(f"{name} ({words})" if words else name for name, words in told)


def window(env: Any) -> str:
    """How much of the map a player sees, and which way is up."""
    spec = env.view_spec
    cells = f"{spec.rows} x {spec.cols} cells"
    if env.has(Places):
        return f"all {spec.cols} places, a column for each"
    seen = ground_plan(env).window
    if seen == "fixed":
        return f"whole map of {cells}, north up"
    up = "heading" if seen == "turns" else "north"
    row, col = spec.ego_origin
    return f"{cells}, {up} up, player at row {row}, column {col}"


def arguments(env: Any) -> dict[str, dict[str, Any]]:
    """What the constructor of a world takes: the default of each argument, and what it can be."""
    entry = find(env.id)
    maker, usual = entry.load(), sociarium.make(entry.id)
    made = (usual.world if isinstance(usual, Society) else usual).arguments
    told = {}
    for name, can_be in choices_of(maker).items():
        default = entry.arguments.get(name, inspect.signature(maker).parameters[name].default)
        default = made[name] if default is None else default
        drawn = isinstance(default, str) and "\n" in default
        told[name] = {"default": "its own drawing" if drawn else default, "can_be": can_be}
    return told


def numbers(params: Any) -> dict[str, Any]:
    """Parameters as plain numbers, of large tables only the size; a beam's footprint as drawn."""
    plain = {}
    for name in parameter_names(params):
        value = np.asarray(parameter(params, name))
        if value.dtype == bool and value.ndim == 2:
            rows = ["".join(".#"[cell] for cell in row.astype(int)) for row in value if row.any()]
            plain[name] = " ".join(rows)
        elif value.size > LISTED or (value.ndim and not value.size):
            plain[name] = f"a table of {' x '.join(map(str, value.shape))}"
        elif value.ndim:
            plain[name] = np.vectorize(lambda number: float(f"{number:.6g}"))(value).tolist()
        else:
            plain[name] = float(f"{value:.6g}") if value.dtype.kind == "f" else int(value)
    return plain


def told(spec: SocialSpec | None) -> dict[str, dict[str, list[str]]] | None:
    """What players are told of their society: codes by name, about themselves and about others."""
    if spec is None:
        return None
    return {
        "oneself": {plane.name: list(plane.codes) for plane in spec.own},
        "everybody": {plane.name: list(plane.codes) for plane in spec.ties},
    }


def page(env: Any, params: Any) -> dict[str, Any]:
    """Everything there is to know about a world, as plain data."""
    return {
        "id": env.id,
        "paper": find(env.id).paper,
        "players": env.players,
        "rules": env.sheet.rules,
        "law": list(env.sheet.law),
        "departures": list(env.sheet.departures),
        "actions": list(action_names(env.actions)),
        "view": {
            "rows": env.view_spec.rows,
            "cols": env.view_spec.cols,
            "ego_origin": list(env.view_spec.ego_origin),
            "planes": {plane.name: list(plane.codes) for plane in env.view_spec.planes},
            "own": [number.name for number in env.view_spec.own],
            "shared": [number.name for number in env.view_spec.shared],
            "window": window(env),
            "social": told(env.view_spec.social),
        },
        "events": {event.name: event.sentence for event in env.event_specs},
        "gauges": {gauge.name: gauge.meaning for gauge in env.gauge_specs},
        "cooperation": asdict(env.facet(Cooperation)) if env.has(Cooperation) else None,
        "scripts": {
            name: (inspect.getdoc(script) or "").partition("\n")[0]
            for name, script in scripts(env).items()
        },
        "params": numbers(params),
        "arguments": arguments(env),
    }
