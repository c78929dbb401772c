"""A frontier over devices is the frontier, bit for bit, or it says why it cannot be."""

import json

import pytest

from tests.devices import printed


def found(*checks):
    told = printed(8, "tests.worlds.frontier_over_devices", *checks)
    return json.loads(told.splitlines()[-1])


@pytest.mark.parametrize(
    "check", ["bare", "contract", pytest.param("large", marks=pytest.mark.slow)]
)
def test_a_trajectory_is_the_same_over_any_number_of_devices(check):
    in_one_piece, *over_devices = found(check)[check]
    assert over_devices == [in_one_piece] * len(over_devices)


def test_one_player_for_all_acts_and_remembers_the_same_wherever_its_seats_are():
    for player, played in found("gatherer", "policy").items():
        assert played["crossings"] > 0
        assert played["over"] == played["in one piece"], player
        assert played["gap"] <= (1e-5 if player == "policy" else 0)


def test_what_cannot_be_held_stops_with_advice():
    said = found("march", "refusals")
    assert len(said["march"]) == 2
    for words in said["march"]:
        assert "which has 75 slots" in words and "--capacity" in words
    hunger, rows, devices, capacity, crowd = said["refusals"]
    assert "hunger" in hunger and "1, 2, 4, 5, 8, 10, 20; given 3" in rows
    assert "configure(devices=10)" in devices and "given 0.5" in capacity
    assert "5 of 8 players stood on strip 0" in crowd
