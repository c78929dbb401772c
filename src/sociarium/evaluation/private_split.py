"""Scenarios that nobody has seen: drawn by a secret that whoever runs a suite keeps.

A model may have been trained on what is public. So each arm of a suite has private sisters: in the
same world, beside other partners out of those the suite has there, under other seeds. The same
secret and number draw the same ones; the secret comes from the environment and is written nowhere,
only a hash that shows later that it was this one.
"""

import hashlib
import hmac
import os
import random

from sociarium.core.errors import BadArgument
from sociarium.evaluation.suite import MODEL_SEAT, Suite, SuiteArm

SECRET = "SOCIARIUM_PRIVATE_SEED"
LEAST = 16  # characters of a secret


def find_secret() -> str:
    """The secret in the environment; a short one is refused."""
    secret = os.environ.get(SECRET, "")
    if len(secret) < LEAST:
        raise BadArgument(
            f"a private split is drawn by a secret of at least {LEAST} characters in the "
            f"environment: set {SECRET}, as in {SECRET}=$(openssl rand -hex 16), and keep it"
        )
    return secret


def commitment(secret: str, number: int) -> str:
    """What may be published: it binds to the secret and does not tell it."""
    return _keyed(secret, f"commitment {number}").hex()


def private_split(suite: Suite, secret: str, number: int) -> Suite:
    """The suite with a private sister in place of each arm that has a contestant and partners.

    `number` tells one private split of a secret from others; hypotheses and averages are about
    public arms, so a private split has none.
    """
    partners: dict[str, list[str]] = {}
    for arm in suite.arm:
        for word in _partners(arm):
            known = partners.setdefault(arm.world, [])
            known += [word] if word not in known else []
    arms = [
        _sister(arm, partners[arm.world], _keyed(secret, f"{number} {arm.id}"))
        for arm in suite.arm
        if arm.has_model and _partners(arm)
    ]
    if not arms:
        raise BadArgument(
            f"{suite.id} has no arm in which a contestant meets others, so there is nothing private"
        )
    return suite.model_copy(
        update={"id": f"{suite.id}-private", "arm": tuple(arms), "hypothesis": (), "average": ()}
    )


def _partners(arm: SuiteArm) -> list[str]:
    """Who sits beside contestants, each once."""
    seats = [word.partition("*")[0] for word in arm.seats.split() if not MODEL_SEAT.match(word)]
    return list(dict.fromkeys(seats))


def _sister(arm: SuiteArm, partners: list[str], drawn: bytes) -> SuiteArm:
    lot = random.Random(drawn)  # of Python, whose sequence is the same for ever
    seats = []
    for word in arm.seats.split():
        if MODEL_SEAT.match(word):
            seats.append(word)
        else:
            many = int(word.partition("*")[2] or 1)
            seats += [lot.choice(partners) for _ in range(many)]
    terms = {"first_seed": lot.randrange(1 << 31), "high": ""}
    return arm.model_copy(
        update={
            "seats": " ".join(seats),
            "demands": "",
            "terms": arm.terms.model_copy(update=terms),
        }
    )


def _keyed(secret: str, about: str) -> bytes:
    return hmac.new(secret.encode(), about.encode(), hashlib.sha256).digest()
