"""`sociarium`: the entry point. Sets the machine up, then hands over to a command."""

import difflib
import errno
import importlib
import os
import sys
from typing import NamedTuple

from sociarium.machine import configure, running


class Command(NamedTuple):
    """A command: its class in the file of its name, or `file:Class`, and a line about it."""

    home: str
    summary: str


GROUPS = {
    "Play": {
        "list": Command("List", "all worlds (environments) and charters (institutions)"),
        "info": Command("Info", "one world: rules, map, parameters, observations and actions"),
        "watch": Command("Watch", "players in a world, in the terminal or as a film (render)"),
        "play": Command("PlayCommand", "play a world yourself, by keys or by lines of text"),
        "match": Command("MatchCommand", "any mix of players, recorded; agents over HTTP"),
        "words": Command("Words", "what a player is told, as text for language models (prompt)"),
        "replay": Command("ReplayCommand", "a recorded episode: verify, watch, draw"),
        "trace": Command("TraceCommand", "why language models did what they did, as a web page"),
        "fork": Command("Fork", "a match again from one step, with other players"),
    },
    "Measure": {
        "measure": Command("Measure", "evaluate a line-up: welfare, equality (Gini), cooperation"),
        "evaluate": Command("Evaluate", "run a suite of experiments with players of your own"),
        "pack": Command("PackCommand", "a finished suite as one sealed file, for others to check"),
        "verify": Command("VerifyCommand", "is a pack true: seals, replays and findings, offline"),
        "compare": Command("CompareCommand", "two reports of a suite, cell by cell and in pairs"),
        "study": Command("StudyOptions", "analyses: Schelling diagram, baselines, laws, ..."),
        "oracle": Command("Oracle", "proven upper bounds on welfare"),
    },
    "Train": {
        "train": Command("Train", "PPO (IPPO, MAPPO, recurrent), Rainbow, VDN; checkpoints"),
        "launch": Command("Launch", "training by several processes, on one machine or many hosts"),
        "sweep": Command("Sweep", "a grid of hyperparameters"),
        "reproduce": Command("Reproduce", "published experiments again, with learning curves"),
    },
    "Tools": {
        "bench": Command("BenchCommand", "steps per second of worlds"),
        "bench-train": Command("BenchTrain", "steps per second of training"),
        "export": Command("Export", "calls of language models: chats, Parquet"),
        "check": Command("Check", "the conformance tests, for your own worlds too"),
        "doctor": Command("Doctor", "versions, devices, whether a world runs; --models"),
        "estimate": Command(
            "EstimateCommand", "what a match will ask of language models (cost, tokens)"
        ),
        "calls": Command("CallsCommand", "recorded calls of language models: show, record anew"),
        "serve-local": Command("ServeLocal", "a small language model on this machine"),
    },
}
SUBCOMMANDS = {
    "study dilemma": Command("dilemma:Dilemma", "do learners fail in it, and why: best responses"),
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def main() -> None:
    """Runs one command; errors of ours are printed without a traceback."""
    try:
        _run(sys.argv[1] if len(sys.argv) > 1 else "--help")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None


def _run(word: str) -> None:
    if word in ("-h", "--help"):
        print(overview())
        return
    if word not in COMMANDS:
        print(f"sociarium: {unknown(word)}", file=sys.stderr)
        raise SystemExit(2)
    sys.path.append(os.getcwd())  # for worlds and players in modules of this folder
    if not running():
        configure()
    import tyro

    from sociarium.cli.checks import with_params_in_name
    from sociarium.core.errors import SociariumError, printable
    from sociarium.core.text import strip_text

    arguments = sys.argv[2:]
    if " ".join(sys.argv[1:3]) in SUBCOMMANDS:
        word = f"{word} {arguments.pop(0)}"
    file, _, home = {**COMMANDS, **SUBCOMMANDS}[word].home.rpartition(":")
    module = importlib.import_module(f"sociarium.cli.{file or word.replace('-', '_')}")
    kind = getattr(module, home)
    try:
        if word == "study":
            if not arguments or arguments[0] in ("-h", "--help"):
                print(module.overview())
                return
            word, kind = f"study {arguments[0]}", module.command_class(arguments.pop(0))
        command = tyro.cli(kind, prog=f"sociarium {word}", args=arguments)
        with_params_in_name(command).run()
    except SociariumError as error:
        print(f"sociarium: {strip_text(str(error))[0]}", file=sys.stderr)
        raise SystemExit(2) from error
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        print(f"sociarium: {printable(error)}; give a shorter name", file=sys.stderr)
        raise SystemExit(2) from error
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None


def overview() -> str:
    """All commands, by what one wants to do."""
    lines = [
        "usage: sociarium COMMAND ...",
        "",
        "A terrarium for societies of minds: social worlds for multi-agent reinforcement learning.",
        "`sociarium COMMAND --help` tells more about one of these:",
    ]
    width = max(map(len, COMMANDS))
    for group, commands in GROUPS.items():
        lines += ["", group]
        lines += [f"  {name:{width}}  {command.summary}" for name, command in commands.items()]
    return "\n".join(lines)


def unknown(word: str) -> str:
    """What to say to a word that is no command."""
    searched = {**dict.fromkeys(COMMANDS, ""), **ELSEWHERE}
    near = difflib.get_close_matches(word, searched, n=2, cutoff=0.6)
    meant = list(dict.fromkeys(ELSEWHERE.get(name, name) for name in near))
    hint = f"Did you mean {' or '.join(meant)}? " if meant else ""
    return f"there is no command {word!r}. {hint}`sociarium --help` lists them all"


ELSEWHERE = {  # what people look for, and what it is called here
    "eval": "evaluate",
    "suite": "evaluate",
    "render": "watch",
    "prompt": "words",
    "observe": "words",
    **dict.fromkeys(["baseline", "baselines", "card", "controls"], "study controls"),
    **dict.fromkeys(["tournament", "crossplay"], "study crossplay"),
    **dict.fromkeys(["arms", "contract-study"], "study contract"),
    **dict.fromkeys(["atlas", "institution-study"], "study institutions"),
    **dict.fromkeys(["law", "laws", "mechanism"], "study laws"),
    **dict.fromkeys(["fines", "deterrence"], "study deterrence"),
    **dict.fromkeys(["evolution", "evolve", "replicator"], "study replicator"),
    **dict.fromkeys(["schelling", "diagram"], "study schelling"),
    "benchmark": "bench",
    "test": "check",
    "envs": "list",
    "worlds": "list",
    "version": "doctor",
    "distributed": "launch",
    "torchrun": "launch",
}

if __name__ == "__main__":
    main()
