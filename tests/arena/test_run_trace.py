"""Traces of runs: read from folders of strangers, told as a page, and exported."""

import base64
import hashlib
import json
import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sociarium.arena import run_trace, trace_page, trace_story
from sociarium.arena.run_export import as_chats, as_parquet, table_rows
from sociarium.arena.run_trace import read_trace
from sociarium.arena.trace_page import as_data, visible
from sociarium.arena.trace_story import became, chosen_line, picked_steps, tell_page
from sociarium.core.errors import BadArgument, CannotRead, MissingExtra
from tests.arena.traced import MENU, note, traced_run, tracer_of

HOSTILE = [
    "</script><script>boom()</script>",
    "<img src=x onerror=boom()>",
    '"><svg onload=boom()>',
    "<!--<script>",
    "]]>{{ policy }}{{ data }}${boom()}",
    "javascript:boom()",
    "\u2028boom()\u2029",
    "'; boom(); //",
]


def data_of(html):
    """What lies in a page."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return json.loads(found)


# Reading.


def test_a_run_is_read_with_its_calls_texts_and_times(tmp_path):
    trace = read_trace(traced_run(tmp_path / "run"))
    first, second, third = trace.decisions
    assert (first.step, first.landed, first.thought) == (0, 0, "a coin is ahead")
    assert [call.failure for call in second.calls] == ["rate_limited", ""]
    assert second.answered is second.calls[1] and third.answered is None
    assert third.choice is None and (third.failure, third.why) == ("malformed", "no choice")
    call = first.calls[0]
    assert trace.text(call.answer) == '{"choice": 2}'
    assert (call.input_tokens, call.output_tokens, call.cached_tokens) == (100, 10, 40)
    assert (call.start, call.queued, call.seconds) == (1000.0, 0.5, 2.0) and call.cost == 0.25
    said = trace.prompt(call)
    assert said[0] == ("system", "You are a player.\n\n## Rules\nCoins pay.")
    assert not trace.damaged


def test_a_decision_that_was_made_again_counts_as_it_was_made_last(tmp_path):
    tracer = tracer_of(tmp_path / "run")
    note(tracer, 0, ["no", "no", "no"], rung="paused", choice=None)
    note(tracer, 0, ["yes"], start=2000.0)
    (only,) = read_trace(tmp_path / "run").decisions
    assert only.rung == "parsed" and len(only.calls) == 1
    assert only.calls[0].start == 2000.0


def test_damaged_rows_are_left_out_and_counted(tmp_path):
    folder = traced_run(tmp_path / "run")
    seat = {"sociarium.seat": 0, "sociarium.decision": 7}
    rows = [
        b"{",
        b"\xff\xfe",
        b"",
        b"[1, 2]",
        b'"text"',
        b"null",
        b'{"name": "decide"}',
        b"[" * 5000,
        b'{"a": 1e999}',
        json.dumps({"name": "decide", "span_id": "x", "attributes": seat}).encode(),
        json.dumps({"name": "decide", "span_id": "0" * 16, "attributes": []}).encode(),
        json.dumps({"name": ["decide"], "span_id": "0" * 16, "attributes": seat}).encode(),
        json.dumps({"name": "chat x", "span_id": "1" * 16, "attributes": {}}).encode(),
    ]
    wrong = ({"sociarium.seat": -1}, {"sociarium.seat": True}, {"sociarium.decision": "7"})
    for place, one in enumerate(wrong):
        row = {"name": "decide", "span_id": f"{place:016x}", "attributes": {**seat, **one}}
        rows.append(json.dumps(row).encode())
    long = {**seat, "sociarium.why": "x" * run_trace.LONGEST_ROW}
    rows.append(json.dumps({"name": "decide", "span_id": "f" * 16, "attributes": long}).encode())
    for name in ("trace.jsonl", "trace_times.jsonl", "decisions.jsonl", "texts.jsonl"):
        with (folder / name).open("ab") as file:
            file.write(b"\n".join(rows) + b"\n")
    with (folder / "texts.jsonl").open("a") as file:
        file.write(json.dumps({"hash": "0" * 64, "text": "another text"}) + "\n")
        file.write('{"hash": "' + "1" * 64 + '", "text": "\\ud800"}\n')
    trace = read_trace(folder)
    assert len(trace.decisions) == 3 and trace.prompt(trace.decisions[0].calls[0])
    assert trace.damaged["trace.jsonl"] == len(rows)
    assert trace.damaged["texts.jsonl"] == len(rows) + 2


def test_absurd_fields_are_taken_as_nothing(tmp_path):
    tracer = tracer_of(tmp_path / "run")
    told = {"rung": 5, "thought": ["x"], "why": "y" * 10**5, "choice": "stay", "step": -4}
    note(tracer, 3, ["x"], **told)
    file, tokens = tmp_path / "run" / "trace.jsonl", '"gen_ai.usage.input_tokens": '
    edited = file.read_text().replace(f"{tokens}100", f"{tokens}1e300")
    edited = edited.replace("zero_shot-1", "\\ud800").replace(
        'messages": [[', 'messages": [5, [], ['
    )
    file.write_text(edited)
    trace = read_trace(tmp_path / "run")
    (only,) = trace.decisions
    assert (only.rung, only.thought, only.choice, only.step) == ("", "", None, 3)
    assert len(only.why) == run_trace.LONGEST_LINE and only.calls[0].input_tokens == 0
    assert only.template == "?" and len(only.calls[0].messages) == 2
    assert tell_page(trace, title="t").html()


def test_texts_that_come_again_and_again_make_no_endless_prompt(tmp_path, monkeypatch):
    trace = read_trace(traced_run(tmp_path / "run"))
    monkeypatch.setattr(run_trace, "LONGEST_PROMPT", 20)
    assert trace.prompt(trace.decisions[0].calls[0]) is None
    assert as_chats(trace) == b""


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(tmp_path, data):
    folder = tmp_path / "bytes"
    folder.mkdir(exist_ok=True)
    for name in ("trace.jsonl", "texts.jsonl", "decisions.jsonl", "trace_times.jsonl"):
        (folder / name).write_bytes(data)
    with pytest.raises(CannotRead, match="no decision"):
        read_trace(folder)


def test_a_folder_without_a_trace_is_told_what_to_do(tmp_path):
    with pytest.raises(CannotRead, match="--seats llm:ALIAS"):
        read_trace(tmp_path)
    (tmp_path / "trial-0").mkdir()
    with pytest.raises(CannotRead, match="one of its trials"):
        read_trace(tmp_path)


# The page.


def test_a_page_tells_what_was_chosen_and_from_what(tmp_path):
    trace = read_trace(traced_run(tmp_path / "run"))
    page = tell_page(trace, title="Coins")
    first, second, third = page.decisions
    assert (first.headline, first.chosen, first.thought) == ("forward", 2, "a coin is ahead")
    assert page.texts[dict(first.sections)["menu"]] == MENU
    assert second.calls[0].failure == "rate_limited" and second.calls[1].seconds == 2.0
    assert third.headline == "" and third.failure == "malformed"
    assert page.last == 2 and page.seats[0].icon.startswith("data:image/png;base64,")
    assert len(tell_page(trace, title="Coins", first=1, last=1).decisions) == 1
    with pytest.raises(BadArgument, match="no model decided from step 9"):
        tell_page(trace, title="Coins", first=9)


def test_what_does_not_fit_is_left_out_and_said(tmp_path, monkeypatch):
    tracer = tracer_of(tmp_path / "run")
    for number in range(20):
        note(tracer, number, ["a long answer " * 50 + str(number)])
    trace = read_trace(tmp_path / "run")
    monkeypatch.setattr(trace_story, "TEXT_BYTES", 6000)
    page = tell_page(trace, title="t")
    assert len(page.decisions) == 20 and "one of 4 decisions" in page.notes[0]
    assert [one.left_out for one in page.decisions[:5]] == [False, True, True, True, False]
    assert all(one.headline == "forward" for one in page.decisions)
    monkeypatch.setattr(trace_story, "MOST_DECISIONS", 10)
    with pytest.raises(BadArgument, match="--first and --last"):
        tell_page(trace, title="t")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_file_is_html_in_the_page(text, tmp_path):
    tracer = tracer_of(tmp_path / "run")
    choice = {"action": text, "say": {"text": text, "to": 1}, "thing": text}
    told = {"thought": text, "why": text, "failure": text, "rung": text, "template": text}
    note(tracer, 0, [text], said=text, choice=choice, player=text, **told)
    html = tell_page(read_trace(tmp_path / "run"), title=text, facts=[text]).html()
    blank, policy = trace_page._template()
    head, tail = blank.replace("{{ policy }}", policy).split("{{ data }}")
    assert html.startswith(head) and html.endswith(tail)
    inside = html[len(head) : len(html) - len(tail)]
    assert not re.search("[<>&\u2028\u2029]", inside)
    data = data_of(html)
    assert data["title"] == visible(text) and data["decisions"][0]["thought"] == visible(text)


def test_a_page_runs_its_own_script_only_and_loads_nothing(tmp_path):
    html = tell_page(read_trace(traced_run(tmp_path / "run")), title="t").html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    script = re.search(r"<script>(.*?)</script>", html, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(http|//)", html)
    assert not re.search(r"\son\w+=|style=\"", html)  # which the policy would not let work


def test_text_that_nobody_would_see_is_shown():
    assert visible("a\u202eb\u200bc\x07\nd\te") == "a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩\nd\te"
    assert visible("\ud800") == "⟨U+D800⟩" and visible("Grüße 你好") == "Grüße 你好"
    assert visible("x" * 30, longest=10) == "x" * 10 + " ... (20 more characters)"
    assert json.loads(as_data({"a": "</script>&\u2028"})) == {"a": "</script>&\u2028"}


@pytest.mark.parametrize(
    ("choice", "answer", "line"),
    [
        ({"action": "forward"}, "", 2),
        ({"skill": "go_to", "place": [1, 2]}, "", 3),
        ({"action": "give to seat 2"}, '{"choice": 1}', 1),
        ({"action": "give to seat 2"}, 'I say {"choice": "forward"}', 2),
        ({"action": "give to seat 2"}, "99", None),
        ({"action": "unknown"}, "", None),
        ({"action": ["<b>"]}, '{"choice": {"a": 1}}', None),
    ],
)
def test_the_line_of_the_menu_that_was_chosen_is_found(choice, answer, line):
    assert chosen_line(MENU, choice, answer, {}) == line


def test_a_decision_is_told_with_all_that_it_says():
    choice = {"skill": "follow", "player": 1, "steps": 5, "say": {"text": "wait", "to": 2}}
    choice |= {"draft": {"what": "zap", "fine": 2.0}, "sign": 0, "vote": {"clause": 1, "yes": True}}
    choice |= {"link": {"to": 1, "percent": 10, "sight": True}, "place": [1, 2]}
    headline, details = became(choice, {1: "Ann"})
    assert headline == "follow Ann"
    assert dict(details) == {
        "place": "[1, 2]",
        "steps": "5",
        "says to player 2": "wait",
        "drafts": "zap, fine 2.0",
        "signs": "clause 0",
        "votes for": "clause 1",
        "ties itself to Ann": "10% of its points, shows what it sees",
    }


def test_pictures_are_of_all_steps_or_of_those_with_decisions():
    assert picked_steps(0, 9, [3], 10) == [*range(10)]
    some = picked_steps(0, 1000, [7, 8, 500], 40)
    assert {0, 7, 8, 500, 1000} <= {*some} and len(some) <= 40
    many = picked_steps(0, 1000, range(1000), 40)
    assert len(many) <= 40 and many[0] == 0 and many[-1] == 1000


# Exports.


def test_answered_calls_are_exported_as_chats(tmp_path):
    rows = [
        json.loads(line) for line in as_chats(read_trace(traced_run(tmp_path / "run"))).splitlines()
    ]
    assert [row["metadata"]["used"] for row in rows] == [True, True, False]
    assert [one["role"] for one in rows[0]["messages"]] == ["system", "user", "assistant"]
    assert rows[1]["messages"][-1]["content"] == '{"choice": 3, "row": 1, "col": 2}'
    told = rows[1]["metadata"]
    assert (told["seat"], told["decision"], told["role"], told["attempt"]) == (0, 1, "act", 1)
    assert (told["model"], told["alias"], told["rung"]) == ("smollm", "small", "local_fix")


def test_calls_are_exported_as_a_table(tmp_path):
    polars = pytest.importorskip("polars")
    trace = read_trace(traced_run(tmp_path / "run"))
    (tmp_path / "calls.parquet").write_bytes(as_parquet(trace))
    table = polars.read_parquet(tmp_path / "calls.parquet")
    assert table.rows(named=True) == [*table_rows(trace)] and table.height == 4
    assert table["used"].to_list() == [True, False, True, False]
    assert table["failure"].to_list() == [None, "rate_limited", None, None]
    bare = [*table_rows(trace, texts=False)]
    assert {row["messages"] for row in bare} == {row["answer"] for row in bare} == {None}


def test_a_table_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match=r"\[export\]"):
        as_parquet(read_trace(traced_run(tmp_path / "run")))
