"""The model of what scale costs, and the figures that it is carried over to."""

import numpy as np
import pytest
from benchmarks.scale import BETWEEN, GPU_BYTES_PER_S, GPU_LAUNCH_S, WITHIN, fitted, outlook

SIZES = ((1_000, 1, 300), (10_000, 4, 800), (100_000, 8, 2_300), (40_000, 2, 1_500))
MEASURED = {
    "players": 1_000_000,
    "border": 7_000,
    "held_bytes_per_player": 6_000,
    "moved_bytes_per_player_step": 30_000,
    "kernels_per_step": 200,
    "messages_per_step": 30,
    "sent_bytes_per_step": 1_400_000,
}


def rows(player, cell, device):
    took = ((n, k, b, player * n + cell * k * b + device * k) for n, k, b in SIZES)
    return [
        {"players": n, "shards": k, "border": b, "cpu_us_per_player_step": us / n}
        for n, k, b, us in took
    ]


def test_the_model_finds_what_made_the_rows():
    model = fitted(rows(2.5, 1.5, 70.0))
    parts = [model[f"us_per_{part}"] for part in ("player", "border_cell", "device")]
    np.testing.assert_allclose(parts, (2.5, 1.5, 70.0), rtol=1e-6)
    assert model["worst_error"] < 1e-6 and model["rows"] == len(SIZES)


def test_nothing_costs_less_than_nothing():
    model = fitted(rows(2.5, 1.5, -200.0))
    assert model["us_per_device"] == 0.0
    assert 0 < model["median_error"] <= model["worst_error"]


def found(players, hosts, gpus):
    told = outlook(MEASURED)["rows"]
    (row,) = (
        row for row in told if (row["players"], row["hosts"], row["gpus"]) == (players, hosts, gpus)
    )
    return row


def test_one_gpu_sends_nothing_and_holds_all():
    row = found(1_000_000, 1, 1)
    assert row["messages_s"] == 0 and row["held_bytes_per_gpu"] == 6e9
    assert row["moved_s"][0] == pytest.approx(3e10 / GPU_BYTES_PER_S / 0.1)
    assert row["launches_s"] == pytest.approx(200 * GPU_LAUNCH_S)


@pytest.mark.parametrize("hosts, gpus, wire", [(1, 8, WITHIN), (64, 512, BETWEEN)])
def test_borders_grow_with_the_width_of_the_land(hosts, gpus, wire):
    small, large = found(1_000_000, hosts, gpus), found(40_000_000, hosts, gpus)
    wider = 40**0.5
    assert small["rows_per_gpu"] * gpus == 7_000
    assert large["rows_per_gpu"] * gpus == pytest.approx(7_000 * wider)
    assert small["messages_s"] == pytest.approx(30 * wire[0] + 1.4e6 / wire[1])
    assert large["messages_s"] == pytest.approx(30 * wire[0] + 1.4e6 * wider / wire[1])
    assert large["held_bytes_per_gpu"] == pytest.approx(40 * small["held_bytes_per_gpu"])
