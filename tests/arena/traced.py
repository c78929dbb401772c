"""Run folders with a trace that is written as a match writes it, without playing one."""

import json

from sociarium.language.models.requests import (
    CallAddress,
    CallError,
    ChatMessage,
    Completion,
    Request,
    Usage,
)
from sociarium.language.models.tracing import Tracer, call_attributes

MENU = "\n\n## What you can do now\n1. stay\n2. forward\n3. go to (Walk to a place) [row, col]"
NOW = "\n\n## Now\nStep {step}. You see a coin.\n" + "Messages:\n- step 0, player 1 to all: {said}"


def prompt(step, said="hello"):
    """The messages of a call, in parts, as a player lays them out."""
    now = NOW.format(step=step, said=json.dumps(said, ensure_ascii=False))
    return (
        ChatMessage("system", ("You are a player.", "\n\n## Rules\nCoins pay.")),
        ChatMessage("user", ("## Who you are\nYou are player 0.", now, MENU, "\n\nChoose.")),
    )


def tracer_of(folder):
    """What writes the trace of a folder, which is made if it is not there."""
    folder.mkdir(exist_ok=True)
    manifest = {"config": {"world": "coins", "seed": 0}, "steps": 3, "ended": "steps 3"}
    manifest |= {"finished": True, "started": "2026-01-01T00:00:00+00:00"}
    if not (folder / "manifest.json").exists():
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return Tracer(folder, "a match")


def note(tracer, number, answers, *, seat=0, step=None, said="hello", start=1000.0, **told):
    """Writes one decision with a call for each answer: a text, or a `CallError`."""
    step = number if step is None else step
    at = CallAddress(seat, number)
    attributes = {"sociarium.seat": seat, "sociarium.decision": number, "sociarium.step": step}
    attributes |= {"sociarium.player": f"player {seat}", "sociarium.template": "zero_shot-1"}
    attributes |= {"sociarium.rung": "parsed", "sociarium.choice": {"action": "forward"}}
    attributes |= {f"sociarium.{name}": value for name, value in told.items()}
    mine = tracer.span_id(at, "decision")
    rows = [{"name": "decide", "span_id": mine, "parent_span_id": None, "attributes": attributes}]
    times, texts = [], []
    for attempt, answer in enumerate(answers):
        request = Request(at, "small", "smollm", prompt(step, said)).at(attempt)
        if not isinstance(answer, CallError):
            texts.append(answer)
            answer = Completion(answer, Usage(100, 10, 40), model="smollm")
        texts += [part for message in request.messages for part in message.parts]
        call = tracer.span_id(request.address)
        rows.append({"name": "chat smollm", "span_id": call, "parent_span_id": mine})
        rows[-1]["attributes"] = call_attributes(request, answer, 0.25)
        times.append({"span_id": call, "start": start, "queued": 0.5, "seconds": 2.0})
    tracer.write(rows, times, texts)


def traced_run(folder):
    """A run of three decisions: one as asked for, one after a failure, and one without answer."""
    tracer = tracer_of(folder)
    note(tracer, 0, ['{"choice": 2}'], thought="a coin is ahead")
    wrong = CallError("rate_limited", "429: slow down")
    note(tracer, 1, [wrong, '{"choice": 3, "row": 1, "col": 2}'], rung="local_fix")
    note(tracer, 2, ["what?"], rung="fallback", choice=None, failure="malformed", why="no choice")
    asked = [{"seat": 0, "asked": step, "landed": step} for step in range(3)]
    (folder / "decisions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    return folder
