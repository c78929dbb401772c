"""Calls of two workers to one model: `python -m tests.ray_calls` says when each was in flight."""

import asyncio
import json
import os
import time

from sociarium.cluster import WorkPart, parse_engine
from sociarium.language.models.cluster_limits import use_cluster_limits
from sociarium.language.models.config import ModelConfig
from sociarium.language.models.limiter import limiter_of

MODEL = ModelConfig(base_url="http://127.0.0.1:9/v1", model="x", max_in_flight=3)
PARTS, CALLS = 4, 12


async def call(number):
    """One that lasts a while, or is given up while it waits."""
    if number % 4 == 3:
        try:
            async with asyncio.timeout(0.01), limiter_of(MODEL).slot(10):
                await asyncio.sleep(1)
        except TimeoutError:
            return None
    async with limiter_of(MODEL).slot(10):
        began = time.monotonic()
        await asyncio.sleep(0.1)
        return [os.getpid(), began, time.monotonic()]


def begin(given):
    use_cluster_limits()

    async def calls():
        return await asyncio.gather(*map(call, range(CALLS)))

    def play(part, on_share):
        return json.dumps([one for one in asyncio.run(calls()) if one])

    return play


def main():
    workers = parse_engine("ray").connect()
    parts = [WorkPart(str(number), "") for number in range(PARTS)]
    made = [json.loads(told) for _, told in workers.play(begin, "", parts)]
    print(json.dumps([one for some in made for one in some]))
    workers.close()


if __name__ == "__main__":
    from tests import ray_calls  # by its name, as workers know it

    ray_calls.main()
