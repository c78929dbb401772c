"""What a test may cost: processor time, its children's too, and programs compiled.

Wall time is too noisy on shared machines. `budget.toml` has the limits for every test that is not
marked slow, and a list of tests that are allowed more; that list may only shrink. What was spent is
summed by folder at the end of a run. `--seconds N` skips what has not begun after N seconds.
"""

import os
import time
import tomllib
from collections import Counter
from pathlib import Path

import jax
import pytest

FILE = Path(__file__).parent / "budget.toml"
COMPILED = "/jax/core/compile/backend_compile_duration"  # read from the cache, too

_compilations = 0


def _count(event, duration, **_):
    global _compilations
    _compilations += event == COMPILED


def compilations():
    """Programs compiled in this process so far, those read from the cache included."""
    return _compilations


def cpu_seconds():
    """Of this process and of the children it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def limits(nodeid, budget):
    """The CPU-seconds and the compilations a test may cost."""
    plain = nodeid.partition("[")[0]
    own = budget["exceptions"].get(nodeid) or budget["exceptions"].get(plain) or {}
    return own.get("cpu", budget["cpu"]), own.get("compilations", budget["compilations"])


class Budget:
    """Measures every test, fails what costs too much, and prints sums by folder."""

    def __init__(self, budget):
        self.budget, self.spent, self.compiled = budget, Counter(), Counter()
        self.tests, self.began = {}, time.monotonic()
        jax.monitoring.register_event_duration_secs_listener(_count)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        item.spent_before = cpu_seconds(), _compilations
        return (yield)

    def pytest_runtest_setup(self, item):
        if time.monotonic() - self.began > item.config.getoption("seconds"):
            pytest.skip("no time left (--seconds)")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when != "call":
            return report
        cpu, compiled = cpu_seconds() - item.spent_before[0], _compilations - item.spent_before[1]
        report.user_properties.append(("spent", (cpu, compiled)))
        most_cpu, most_compiled = limits(item.nodeid, self.budget)
        over = cpu > most_cpu or compiled > most_compiled
        if report.passed and over and not item.get_closest_marker("slow"):
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} took {cpu:.1f} CPU-seconds of {most_cpu} and {compiled} "
                f"compilations of {most_compiled} it may. Share programs, use a smaller world, or "
                "mark it slow."
            )
        return report

    def pytest_runtest_logreport(self, report):
        for name, spent in report.user_properties if report.when == "call" else ():
            if name == "spent":
                self.tests[report.nodeid] = tuple(spent)

    def pytest_terminal_summary(self, terminalreporter):
        for nodeid, (cpu, compiled) in self.tests.items():
            folder = nodeid.partition("::")[0].rpartition("/")[0]
            self.spent[folder] += cpu
            self.compiled[folder] += compiled
        write = terminalreporter.write_line
        write(f"\n{'folder':24} {'CPU s':>8} {'compiled':>9}")
        for folder, cpu in self.spent.most_common():
            write(f"{folder:24} {cpu:8.0f} {self.compiled[folder]:9}")
        write(f"{'all':24} {self.spent.total():8.0f} {self.compiled.total():9}\n")
        costly = sorted(self.tests.items(), key=lambda item: -item[1][0])
        most = terminalreporter.config.getoption("costly")
        for nodeid, (cpu, compiled) in costly[:most]:
            write(f"{cpu:8.1f} s {compiled:5} compiled  {nodeid}")


def pytest_addoption(parser):
    parser.addoption("--costly", type=int, default=10, help="how many of the costliest to list")
    parser.addoption("--seconds", type=float, default=float("inf"), help="start no test later")
    parser.addoption("--part", default="1/1", help="run one part of the test files, as in 2/4")


def pytest_configure(config):
    config.pluginmanager.register(Budget(tomllib.loads(FILE.read_text())), "budget")
