"""The actor by which all workers of a cluster keep to one limit, here without a cluster."""

import asyncio

from sociarium.language.models import cluster_limits
from sociarium.language.models.cluster_limits import Limits, RateLimits
from sociarium.language.models.config import ModelConfig

MODEL = ModelConfig(base_url="http://127.0.0.1:9/v1", model="x", max_in_flight=2, timeout=0.05)
LIMITS = Limits.of(MODEL)


async def taken(actor, turn, seconds=0.2):
    """Whether a turn came before that time was over."""
    try:
        await asyncio.wait_for(asyncio.shield(actor.take(turn, LIMITS, 1)), seconds)
    except TimeoutError:
        return False
    return True


def test_as_many_turns_are_given_as_the_endpoint_allows():
    async def played():
        actor = RateLimits()
        assert [await taken(actor, turn) for turn in "abc"] == [True, True, False]
        await actor.give_back("a")
        assert not await taken(actor, "d")  # c waited first, and has it
        await actor.give_back("c")
        await actor.give_back("b")
        assert await taken(actor, "e")

    asyncio.run(played())


def test_who_gives_up_while_it_waits_takes_no_turn_from_others():
    async def played():
        actor = RateLimits()
        assert [await taken(actor, turn) for turn in "abc"] == [True, True, False]
        await actor.give_back("c")
        await actor.give_back("a")
        assert await taken(actor, "d")
        await actor.give_back("b")
        assert await taken(actor, "e")

    asyncio.run(played())


def test_a_turn_that_was_given_up_before_it_was_asked_for_is_nobodys():
    async def played():
        actor = RateLimits()
        await actor.give_back("a")
        assert [await taken(actor, turn) for turn in "abc"] == [True, True, True]
        assert not await taken(actor, "d")

    asyncio.run(played())


def test_a_turn_given_up_in_the_moment_it_came_is_free_again():
    async def played():
        actor = RateLimits()
        assert [await taken(actor, turn) for turn in "ab"] == [True, True]
        waits = asyncio.create_task(actor.take("c", LIMITS, 1))
        await asyncio.sleep(0.01)
        giving = asyncio.create_task(actor.give_back("a"))
        while not actor._waiting["c"].done():
            await asyncio.sleep(0)
        await actor.give_back("c")
        await asyncio.gather(waits, giving, return_exceptions=True)
        assert await taken(actor, "d")

    asyncio.run(played())


def test_a_lost_worker_keeps_its_turns_no_longer_than_their_calls(monkeypatch):
    monkeypatch.setattr(cluster_limits, "SLACK", 0.05)

    async def played():
        actor = RateLimits()
        assert [await taken(actor, turn) for turn in "ab"] == [True, True]
        assert await taken(actor, "c", 5)

    asyncio.run(played())


def test_the_actor_is_told_neither_where_a_model_is_nor_how_it_is_paid_for():
    told = repr(Limits.of(MODEL.model_copy(update={"key_env": "MY_KEY", "price_in": 3.0})))
    assert not any(word in told for word in ("127.0.0.1", "MY_KEY", "3.0"))
    other = MODEL.model_copy(update={"model": "y"})
    assert Limits.of(other).endpoint != LIMITS.endpoint


def test_limits_of_two_endpoints_are_their_own():
    other = Limits.of(MODEL.model_copy(update={"model": "y"}))

    async def played():
        actor = RateLimits()
        assert [await taken(actor, turn) for turn in "abc"] == [True, True, False]
        await asyncio.wait_for(actor.take("d", other, 1), 0.2)

    asyncio.run(played())
