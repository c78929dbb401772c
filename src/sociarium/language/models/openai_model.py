"""Models behind an OpenAI-compatible address: vLLM, SGLang, llama.cpp, hosted ones."""

import asyncio
import json
import logging
import weakref
from typing import Any

from sociarium.core.errors import MissingExtra, printable
from sociarium.language.models.config import ModelConfig
from sociarium.language.models.network import check_network
from sociarium.language.models.requests import (
    EMBED,
    MOST_BELIEVED,
    CallError,
    CallFailure,
    Completion,
    Request,
    Usage,
)

CONNECT = 10.0  # seconds
TOOL = "decide"
WIRE_LOGS = ("openai", "httpx2", "httpcore2")
LONGEST_WHY = 200  # characters of what a server says about a failure
MOST_ANSWER = 1 << 16  # characters
_OWNERS = ("OpenAI-Organization", "OpenAI-Project")  # of accounts there, and nobody else's concern
_SENT = ("model", "messages", "max_tokens", "temperature", "seed")


def import_openai() -> Any:
    """The SDK, with the HTTP client it is given; raises `MissingExtra` if one is not there."""
    try:
        import aiohttp  # noqa: F401
        import openai
    except ImportError as error:
        raise MissingExtra(error.name or "openai", "llm") from None
    return openai


class OpenAIModel:
    """Asks one model by the `openai` SDK, which tries once: retries are ours, and traced."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        # Connections belong to the event loop in which they were opened.
        self._clients: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    async def close(self) -> None:
        """Closes the connections of this event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._connect()
        return client

    def _connect(self) -> Any:
        openai = import_openai()
        from sociarium.language.models.http_client import AiohttpClient

        for name in WIRE_LOGS:  # which would write down keys, as parts of what is sent
            if logging.getLogger(name).level == logging.NOTSET:
                logging.getLogger(name).setLevel(logging.WARNING)
        config = self.config
        timeout = openai.Timeout(config.timeout, connect=CONNECT)
        return openai.AsyncOpenAI(
            api_key=config.key(),
            base_url=config.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=AiohttpClient(timeout),
            default_headers={} if config.is_openai else dict.fromkeys(_OWNERS, openai.Omit()),
        )

    async def complete(self, request: Request) -> Completion:
        """The model's answer; raises `CallError` for whatever goes wrong with the call."""
        import httpx2
        import openai

        check_network(self.config.base_url)
        client = self._client()
        try:
            # The endpoint by its path: the method for it transforms and copies every field, which
            # costs as much as all the rest.
            embeds = request.address.role == EMBED
            path = "/embeddings" if embeds else "/chat/completions"
            raw = await client.post(path, cast_to=object, body=self._body(request))
        except openai.APIStatusError as error:
            raise self._failed(_by_status(error.status_code), error) from None
        except openai.APITimeoutError as error:
            raise self._failed("stalled", error) from None
        except openai.APIConnectionError as error:
            kind: CallFailure = "connection"
            if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ProxyError):
                kind = "unreachable"
            elif isinstance(error.__cause__, httpx2.DecodingError):
                kind = "malformed"
            raise self._failed(kind, error) from None
        except (openai.OpenAIError, ValueError, RecursionError) as error:  # an answer that is none
            raise self._failed("malformed", error) from None
        return self._read_vector(raw) if embeds else self._read(raw)

    def _body(self, request: Request) -> dict[str, Any]:
        """What the server is sent."""
        told = request.body
        if request.address.role == EMBED:
            return {"model": told["model"], "input": request.messages[-1].text}
        body: dict[str, Any] = {name: told[name] for name in _SENT} | self.config.extra_body
        if request.schema is not None and request.mode in ("legal_schema", "static_schema"):
            strict = request.mode == "static_schema"
            form = {"name": "decision", "strict": strict, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif request.schema is not None and request.mode == "tool":
            what = {"name": TOOL, "description": "Decide.", "parameters": request.schema}
            body["tools"] = [{"type": "function", "function": what}]
            body["tool_choice"] = {"type": "function", "function": {"name": TOOL}}
        return body

    def _read_vector(self, raw: Any) -> Completion:
        """A vector out of a server's JSON, as text; whoever asked checks its numbers."""
        try:
            text = self._redacted(json.dumps(raw["data"][0]["embedding"], allow_nan=False))
            used, model = _table(raw, "usage").get("prompt_tokens"), str(raw.get("model") or "")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._failed("malformed", error) from None
        return Completion(text, Usage(_count(used)), model=printable(self._redacted(model))[:100])

    def _read(self, raw: Any) -> Completion:
        """A completion out of a server's JSON, of which nothing is sure."""
        try:
            if "error" in raw and "choices" not in raw:
                raise ValueError(f"it answered with an error: {json.dumps(raw['error'])}")
            choice = raw["choices"][0]
            message = choice["message"]
            calls = message.get("tool_calls")
            text = calls[0]["function"]["arguments"] if calls else message.get("content") or ""
            usage = _table(raw, "usage")
            details = _table(usage, "prompt_tokens_details")
            tokens = Usage(
                _count(usage.get("prompt_tokens")),
                _count(usage.get("completion_tokens")),
                _count(details.get("cached_tokens")),
            )
            if not isinstance(text, str):
                raise TypeError("the answer has no text")
            reason, model = str(choice.get("finish_reason") or ""), str(raw.get("model") or "")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._failed("malformed", error) from None
        text, reason, model = (self._redacted(one) for one in (text, reason, model))
        named = model.rpartition("/")[2] if model.startswith("/") else model  # no path of a machine
        text = text[:MOST_ANSWER].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return Completion(text, tokens, reason[:40], printable(named)[:100])

    def _redacted(self, text: str) -> str:
        """The text without the API key, before any cut: part of a key would not be found."""
        if not self.config.key_env:
            return text
        key = self.config.key()
        escaped = {
            json.dumps(key)[1:-1],
            json.dumps(key, ensure_ascii=False)[1:-1],
            repr(key)[1:-1],
        }
        for form in sorted({key, *escaped}, key=len, reverse=True):
            text = text.replace(form, "[key]")
        return text

    def _failed(self, kind: CallFailure, error: Exception) -> CallError:
        """What went wrong, without the key that a server may repeat."""
        headers = getattr(getattr(error, "response", None), "headers", {})
        why = self._redacted(_said(error))
        return CallError(kind, printable(why)[:LONGEST_WHY], _seconds(headers.get("retry-after")))


def _table(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """A table in a server's JSON; empty where it says something else."""
    found = raw.get(name)
    return found if isinstance(found, dict) else {}


def _count(reported: Any) -> int:
    """A number of tokens; 0, which is not credible, where a server says something else."""
    whole = isinstance(reported, int) and not isinstance(reported, bool)
    return reported if whole and 0 <= reported < MOST_BELIEVED else 0


def _by_status(status: int) -> CallFailure:
    if status in (401, 403):
        return "unauthorized"
    if status == 404:
        return "unknown_model"
    if status == 429:
        return "rate_limited"
    if status in (408, 409) or status >= 500:
        return "server_error"
    return "bad_request"


def _said(error: Exception) -> str:
    """What a server says about a failure, else what the SDK does."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        message = body.get("message")
        return message if isinstance(message, str) else json.dumps(body)
    cause = error.__cause__
    return f"{error} ({cause})" if cause is not None and str(cause) else str(error)


def _seconds(told: str | None) -> float | None:
    """What `retry-after` says, where it is a number of seconds; at most an hour."""
    try:
        return min(max(float(told), 0.0), 3600.0) if told is not None else None
    except ValueError:
        return None
