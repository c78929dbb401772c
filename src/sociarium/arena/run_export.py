"""The calls of a run for other tools: chats to train on, a table, or spans for a collector."""

import io
import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sociarium.arena.run_trace import RunTrace, TracedCall, TracedDecision
from sociarium.core.errors import BadArgument, MissingExtra

MOST_BYTES = 1 << 30  # of what is written
SCHEMA = "https://opentelemetry.io/schemas/"
INTERNAL, CLIENT = 1, 3  # kinds of spans
FAILED = 2  # status of a span
NANOS = 1_000_000_000
MOST_WHOLE = 1 << 63
_COLUMNS = {
    "seat": int,
    "player": str,
    "decision": int,
    "step": int,
    "role": str,
    "attempt": int,
    "alias": str,
    "model": str,
    "template": str,
    "rung": str,
    "used": bool,
    "failure": str,
    "why": str,
    "finish_reason": str,
    "input_tokens": int,
    "output_tokens": int,
    "cached_tokens": int,
    "cost": float,
    "start": float,
    "queued": float,
    "seconds": float,
    "choice": str,
    "thought": str,
    "messages": str,
    "answer": str,
}


def calls_of(trace: RunTrace) -> Iterator[tuple[TracedDecision, TracedCall]]:
    """Every call with the decision that it was made for, in order of time."""
    for decision in trace.decisions:
        for call in decision.calls:
            yield decision, call


def address(decision: TracedDecision, call: TracedCall) -> dict[str, Any]:
    """Which call it is, of which model, and what came of the decision.

    `used` says whether its answer became the decision.
    """
    return {
        "seat": decision.seat,
        "player": decision.player,
        "decision": decision.number,
        "step": decision.step,
        "role": call.role,
        "attempt": call.attempt,
        "alias": call.alias,
        "model": call.model,
        "template": decision.template,
        "rung": decision.rung,
        "used": call is decision.answered,
    }


def chat_lines(trace: RunTrace) -> Iterator[dict[str, Any]]:
    """A chat for each call that was answered, as models are trained on; whole ones only."""
    for decision, call in calls_of(trace):
        prompt, answer = trace.prompt(call), trace.text(call.answer)
        if prompt and answer is not None:
            said = [{"role": speaker, "content": text} for speaker, text in prompt]
            said.append({"role": "assistant", "content": answer})
            yield {"messages": said, "metadata": address(decision, call)}


def as_chats(trace: RunTrace) -> bytes:
    """Chats in JSON, one a line."""
    lines, length = [], 0
    for row in chat_lines(trace):
        lines.append(_json(row))
        length += len(lines[-1])
        _refuse_large(length)
    return b"".join(lines)


def table_rows(trace: RunTrace, texts: bool = True) -> Iterator[dict[str, Any]]:
    """A row for each call; messages and the choice are JSON."""
    for decision, call in calls_of(trace):
        times, prompt = call.times, trace.prompt(call) if texts else None
        messages = [{"role": speaker, "content": text} for speaker, text in prompt or ()]
        choice = decision.choice
        row = {
            **address(decision, call),
            "failure": call.failure or None,
            "why": call.why or None,
            "finish_reason": call.finish_reason or None,
            "input_tokens": call.input_tokens,
            "output_tokens": call.output_tokens,
            "cached_tokens": call.cached_tokens,
            "cost": call.cost,
            "start": None if times is None else times.start,
            "queued": None if times is None else times.queued,
            "seconds": None if times is None else times.seconds,
            "choice": None if choice is None else _json(choice).decode().strip(),
            "thought": decision.thought or None,
            "messages": _json(messages).decode().strip() if messages else None,
            "answer": trace.text(call.answer) if texts else None,
        }
        yield {name: row[name] for name in _COLUMNS}


def as_parquet(trace: RunTrace, texts: bool = True) -> bytes:
    """The table of calls as a Parquet file."""
    try:
        import polars
    except ImportError:
        raise MissingExtra("polars", "export") from None
    kinds: dict[Any, Any] = {
        int: polars.Int64,
        str: polars.String,
        bool: polars.Boolean,
        float: polars.Float64,
    }
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    length = 0
    for row in table_rows(trace, texts):
        for name, value in row.items():
            columns[name].append(_clean(value))
        length += len(row["messages"] or "") + len(row["answer"] or "")
        _refuse_large(length)
    table = polars.DataFrame(columns, {name: kinds[kind] for name, kind in _COLUMNS.items()})
    file = io.BytesIO()
    table.write_parquet(file)
    return file.getvalue()


def as_otlp(trace: RunTrace, manifest: Mapping[str, Any], texts: bool = True) -> bytes:
    """All spans as one request in OTLP/JSON, which a collector takes as it is.

    Where no times were kept, as in a replay, spans have no length and stand where the match began.
    """
    began = _began(manifest)
    spans, length = [], 0
    for decision in trace.decisions:
        mine = [_call_span(trace, decision, call, began, texts) for call in decision.calls]
        for span in (_decision_span(trace, decision, mine, began), *mine):
            spans.append(_json(span).strip())
            length += len(spans[-1])
            _refuse_large(length)
    resource = {"service.name": "sociarium", "sociarium.world": _world(manifest)}
    head = {"attributes": _pairs(resource)}
    scope: dict[str, Any] = {"name": "sociarium", "version": _version(manifest)}
    schema = f"{SCHEMA}{trace.conventions}" if trace.conventions else ""
    return b"".join(
        (
            b'{"resourceSpans":[{"resource":',
            _json(head).strip(),
            b',"scopeSpans":[{"scope":',
            _json(scope).strip(),
            b',"schemaUrl":',
            _json(schema).strip(),
            b',"spans":[',
            b",".join(spans),
            b"]}]}]}\n",
        )
    )


def _decision_span(
    trace: RunTrace, decision: TracedDecision, calls: list[dict[str, Any]], began: int
) -> dict[str, Any]:
    """A decision lasts from its first call to the end of its last."""
    starts = [int(span["startTimeUnixNano"]) for span in calls]
    ends = [int(span["endTimeUnixNano"]) for span in calls]
    wrong = decision.failure or (decision.rung if decision.rung in ("late", "paused") else "")
    return _span(
        trace,
        "decide",
        decision.span_id,
        "",
        INTERNAL,
        (min(starts, default=began), max(ends, default=began)),
        decision.attributes,
        f"{wrong}: {decision.why}" if wrong else "",
    )


def _call_span(
    trace: RunTrace, decision: TracedDecision, call: TracedCall, began: int, texts: bool
) -> dict[str, Any]:
    times = call.times
    start = began if times is None else round(times.start * NANOS)
    lasted = 0 if times is None else round(times.seconds * NANOS)
    told = dict(call.attributes)
    prompt, answer = trace.prompt(call), trace.text(call.answer)
    if texts and prompt:
        told["gen_ai.input.messages"] = _messages(prompt)
    if texts and answer is not None:
        told["gen_ai.output.messages"] = _messages([("assistant", answer)], call.finish_reason)
    return _span(
        trace,
        f"chat {call.model}",
        call.span_id,
        decision.span_id,
        CLIENT,
        (start, start + lasted),
        told,
        f"{call.failure}: {call.why}" if call.failure else "",
    )


def _span(
    trace: RunTrace,
    name: str,
    span_id: str,
    parent: str,
    kind: int,
    times: tuple[int, int],
    told: Mapping[str, Any],
    wrong: str,
) -> dict[str, Any]:
    return {
        "traceId": trace.trace_id,
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(times[0]),
        "endTimeUnixNano": str(times[1]),
        "attributes": _pairs(told),
        "status": {"code": FAILED, "message": wrong} if wrong else {},
    }


def _messages(said: list[tuple[str, str]], finish_reason: str = "") -> str:
    """Messages as the conventions have them, in JSON."""
    more = {"finish_reason": finish_reason} if finish_reason else {}
    told = [
        {"role": speaker, "parts": [{"type": "text", "content": text}], **more}
        for speaker, text in said
    ]
    return _json(told).decode().strip()


def _pairs(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(one)} for name, one in told.items() if one is not None]


def _value(one: Any) -> dict[str, Any]:
    """A plain value as OTLP has it; whole numbers are texts there."""
    match one:
        case bool():
            return {"boolValue": one}
        case int() if abs(one) < MOST_WHOLE:
            return {"intValue": str(one)}
        case int() | float():
            return {"doubleValue": float(one) if abs(one) < 1e300 else math.copysign(1e300, one)}
        case str():
            return {"stringValue": one}
        case list():
            return {"arrayValue": {"values": [_value(part) for part in one]}}
        case dict():
            return {"kvlistValue": {"values": _pairs(one)}}
    return {}


def _began(manifest: Mapping[str, Any]) -> int:
    """When a match began, in nanoseconds since 1970; 0 where it is not known."""
    try:
        return max(0, round(datetime.fromisoformat(str(manifest["started"])).timestamp() * NANOS))
    except (KeyError, ValueError, OverflowError, OSError):
        return 0


def _world(manifest: Mapping[str, Any]) -> str:
    config = manifest.get("config")
    return str(config.get("world", ""))[:500] if isinstance(config, dict) else ""


def _version(manifest: Mapping[str, Any]) -> str:
    versions = manifest.get("versions")
    return str(versions.get("sociarium", ""))[:100] if isinstance(versions, dict) else ""


def _clean(value: Any) -> Any:
    """A text without halves of letters, which no file in UTF-8 can hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _json(value: Any) -> bytes:
    """A value in one line."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _refuse_large(length: int) -> None:
    if length > MOST_BYTES:
        raise BadArgument(
            f"this export has more than {MOST_BYTES >> 20} MiB; leave prompts and answers out "
            "(--no-texts), or export otherwise"
        )
