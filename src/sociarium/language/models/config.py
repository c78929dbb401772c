"""`models.toml`: which language models there are, and which part of a mind uses which.

    [models.small]
    base_url = "http://127.0.0.1:8080/v1"
    model = "local"
    structured = "legal_schema"

    [roles]
    act = "small"

Keys are never in it, only the NAMES of environment variables that hold them.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sociarium.core.errors import BadArgument, CannotRead, UnknownName, first_wrong
from sociarium.core.world_files import MOST_BYTES

FILE = "models.toml"
EXAMPLE = """\
[models.small]
base_url = "http://127.0.0.1:8080/v1"
model = "local"
structured = "legal_schema"
"""
# How answers are held to a form: by the menu's own schema, by one schema for all menus, by a tool
# whose arguments have that schema, or by words alone.
OutputMode = Literal["legal_schema", "static_schema", "tool", "text"]
OUTPUT_MODES: tuple[OutputMode, ...] = get_args(OutputMode)
PER_MILLION = 1e-6  # prices are for a million tokens

Positive = Annotated[int, Field(ge=1)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelConfig(BaseModel):
    """One model behind an OpenAI-compatible address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    model: str
    key_env: str = ""  # the name of an environment variable
    context: Positive = 8192  # tokens
    max_in_flight: Positive = 4  # calls
    rpm: Positive | None = None  # calls a minute
    tpm: Positive | None = None  # tokens a minute
    price_in: Price | None = None  # of a million tokens
    price_out: Price | None = None
    price_date: str = ""
    structured: OutputMode = "text"
    tokenizer: str = ""  # a tokenizer.json, to count exactly
    timeout: Annotated[float, Field(gt=0, le=3600)] = 60.0  # seconds of one call
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @field_validator("key_env")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if value and not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,80}", value):
            raise ValueError(
                "key_env is the NAME of an environment variable, in capitals, not the key itself"
            )
        return value

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", value):
            raise ValueError(
                "base_url is an address such as http://127.0.0.1:8080/v1, without keys or queries"
            )
        return value.rstrip("/")

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own service, which knows organizations and projects."""
        return bool(re.match(r"https://api\.openai\.com(/|$)", self.base_url))

    @property
    def endpoint(self) -> tuple[str, str]:
        """What has limits of its own: an address and a model."""
        return self.base_url, self.model

    def key(self) -> str:
        """The key, from the environment."""
        if not self.key_env:
            return "none"  # servers of one's own ask for none, but the header must be there
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise BadArgument(f"the model needs a key: set the environment variable {self.key_env}")
        return key

    @property
    def priced(self) -> bool:
        """Whether it is known what tokens cost."""
        return self.price_in is not None and self.price_out is not None

    def cost(self, input_tokens: float | int, output_tokens: float | int) -> float:
        """What so many tokens cost; nothing where no price is known."""
        prices = self.price_in or 0.0, self.price_out or 0.0
        return PER_MILLION * (input_tokens * prices[0] + output_tokens * prices[1])


@dataclass(frozen=True)
class Models:
    """All models by alias, and the roles they have."""

    models: Mapping[str, ModelConfig] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    source: str = ""  # where they were read

    def find(self, alias: str) -> ModelConfig:
        """The model of this alias."""
        if alias in self.models:
            return self.models[alias]
        where = f"In {self.source}" if self.source else f"Without a {FILE} in this folder"
        known = (*self.models, "fake")
        hint = f"{where} there is {', '.join(known)}; `sociarium doctor --models` tells more."
        raise UnknownName("model", alias, known, hint)

    def for_role(self, role: str, alias: str = "") -> str:
        """The alias of a role: the one that is given, else the one that the file gives it."""
        if alias:
            return alias
        if role in self.roles:
            return self.roles[role]
        raise BadArgument(
            f"no model is named for the role {role!r}: write llm:ALIAS, or [roles] {role} = "
            f'"ALIAS" in {self.source or FILE}'
        )


def read_models(file: Path) -> Models:
    """The models of a file."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise CannotRead(f"{file} is larger than {MOST_BYTES} bytes, which no {FILE} is.")
        told = tomllib.loads(content.decode())
    except OSError as error:
        raise CannotRead(f"{file} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CannotRead(f"{file} is not TOML: {error}.") from error
    if unknown := set(told) - {"models", "roles"}:
        raise CannotRead(
            f"{file} has {', '.join(sorted(unknown))}; it may have [models.NAME] and [roles]."
        )
    given_models, roles = told.get("models", {}), told.get("roles", {})
    if not isinstance(given_models, dict) or not isinstance(roles, dict):
        raise CannotRead(f"{file}: [models.NAME] and [roles] are tables.")
    models = {}
    for alias, given in given_models.items():
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", alias) or alias == "fake":
            raise CannotRead(
                f"{file}: {alias!r} cannot be an alias; use small letters, digits, - and _, and "
                "not fake, which is built in."
            )
        try:
            models[alias] = ModelConfig.model_validate(given)
        except ValidationError as error:
            raise CannotRead(f"{file}, models.{alias}: {first_wrong(error)}.") from None
    for role, alias in roles.items():
        if not isinstance(alias, str) or (alias not in models and alias != "fake"):
            raise CannotRead(f"{file}: the role {role} is given to {alias!r}, which is no model.")
    return Models(models, roles, str(file.name))


def user_file() -> Path:
    """The user's own file, for all folders."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "sociarium" / FILE


def find_models(given: Path | None = None) -> Models:
    """The models of the file that is given, else of this folder, else of the user; or none."""
    if given is not None:
        return read_models(given)
    for file in (Path(FILE), user_file()):
        if file.is_file():
            return read_models(file)
    return Models()
