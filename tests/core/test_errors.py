"""Errors say what was given, what is allowed, and what was probably meant."""

import pickle

import pytest

from sociarium.core.errors import (
    BadArgument,
    BadMap,
    CannotRead,
    CannotWrite,
    ContractBroken,
    MissingExtra,
    MissingFacet,
    SociariumError,
    UnknownName,
)

KNOWN = ("clean_up-v0", "coins-v0", "harvest_open-v0", "harvest_closed-v0")


def test_a_near_name_is_suggested_and_the_far_ones_are_not():
    error = UnknownName("world", "clean_upp-v0", KNOWN)
    assert error.nearest[0] == "clean_up-v0"
    assert str(error).startswith("There is no world named 'clean_upp-v0'. Did you mean clean_up-v0")
    assert "Known:" not in str(error)


def test_several_near_names_are_joined_nearest_first():
    error = UnknownName("world", "harvest_opened-v0", KNOWN)
    assert error.nearest[:2] == ("harvest_open-v0", "harvest_closed-v0")
    assert "harvest_open-v0 or harvest_closed-v0" in str(error)


def test_a_name_like_no_other_gets_the_whole_list():
    error = UnknownName("world", "zzz", KNOWN)
    assert error.nearest == ()
    assert str(error) == f"There is no world named 'zzz'. Known: {', '.join(KNOWN)}."


@pytest.mark.parametrize(
    "error",
    [
        UnknownName("script", "x" * 100_000, KNOWN, f"write script:{'x' * 100_000}"),
        BadArgument(f"a seat is kind:ref; given {'x' * 100_000!r}"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_of_a_long_text_the_beginning_is_repeated(error):
    assert "x" * 190 in str(error) and len(str(error)) < 1000


def test_a_hint_comes_last():
    assert str(UnknownName("map", "zzz", ("open",), "Or draw one.")).endswith(
        "Known: open. Or draw one."
    )


@pytest.mark.parametrize(
    "kind",
    [UnknownName, BadMap, BadArgument, ContractBroken, CannotRead, CannotWrite, MissingExtra],
)
def test_every_error_can_be_caught_as_the_packages_own(kind):
    assert issubclass(kind, SociariumError)


@pytest.mark.parametrize(
    "error",
    [
        CannotWrite("a/file", OSError(28, "No space left on device")),
        MissingExtra("ray", "ray"),
        MissingFacet("coins-v0", "Places", ("Board",)),
        UnknownName("world", "clean_upp-v0", KNOWN),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_in_another_process(error):
    """A worker that could not tell of one would keep all others waiting."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert vars(again) == vars(error)
