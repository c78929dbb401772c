"""Lists the test files nearest to a change, nearest first, for `.ci/quick`.

`python -m tests.nearby [ROOM ...]` prints test files in this order: those that changed, those that
import a changed module, those of the changed rooms, and those that import a module which imports a
changed one. Without rooms, what differs from `main` (or from the last commit, on `main`) is the
change.
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sociarium"


def git(*words: str) -> list[str]:
    """The lines that a git command prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed_files() -> set[Path]:
    """Files that differ from `main`, uncommitted and untracked ones included."""
    on_main = git("branch", "--show-current") == ["main"]
    base = "HEAD~1" if on_main else git("merge-base", "HEAD", "main")[0]
    names = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in names}


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules of the package that a file imports or names, as in `sociarium.cli.main`."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in found if name.startswith("sociarium"))


def nearest_tests(changed: set[Path], rooms: set[str]) -> list[Path]:
    """Test files by their distance from changed files and rooms, nearest first."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    sources = sorted(PACKAGE.rglob("*.py"))
    modules = {module_name(path) for path in changed if path in set(sources)}
    rooms = rooms | {name.split(".")[1] for name in modules if "." in name}
    near = {module_name(path) for path in sources if imports(path) & modules}
    if not modules:
        near |= {name for name in map(module_name, sources) if {*name.split(".")[1:2]} & rooms}
    ranks = (
        lambda path: path in changed,
        lambda path: bool(imports(path) & modules),
        lambda path: path.relative_to(ROOT / "tests").parts[0] in rooms,
        lambda path: bool(imports(path) & near),
    )
    ranked = [[path for path in tests if belongs(path)] for belongs in ranks]
    return list(dict.fromkeys(path for rank in ranked for path in rank))


if __name__ == "__main__":
    given = set(sys.argv[1:])
    known = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_")}
    if given - known:
        sys.exit(
            f"no room {', '.join(sorted(given - known))}; known are {', '.join(sorted(known))}"
        )
    files = nearest_tests(set() if given else changed_files(), given)
    print("\n".join(str(path.relative_to(ROOT)) for path in files))
