"""The calls of a run for other tools: chats to train on, or a table."""

import io
import json
from collections.abc import Iterator
from typing import Any

from sociarium.arena.run_trace import RunTrace, TracedCall, TracedDecision
from sociarium.core.errors import BadArgument, MissingExtra

MOST_BYTES = 1 << 30  # of what is written
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
        prompt = trace.prompt(call) if texts else None
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
            "start": call.start,
            "queued": call.queued,
            "seconds": call.seconds,
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
