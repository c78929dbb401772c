"""Tournaments as games, and what theory says of mechanisms in games of one table."""

import functools

import numpy as np
import pytest

from sociarium.core.errors import BadArgument
from sociarium.evaluation.findings import Findings
from sociarium.evaluation.suite import read_suite
from sociarium.evaluation.suite_run import SuiteRun

D, C, TIT, GRIM = (f"script:{n}" for n in ("defector", "cooperator", "tit_for_tat", "grim"))
SIGNATORY, DISCRIMINATOR = "script:signatory", "script:discriminator"
GAMES = ("pd", "pg", "td", "tg")


def found_in(folder, *arms, models=(), seeds=1, **changes):
    suite = read_suite("mechanisms").chosen(arms)
    for name, value in changes.items():
        suite = suite.model_copy(
            update={
                "arm": tuple(
                    arm.model_copy(update={"terms": arm.terms.model_copy(update={name: value})})
                    for arm in suite.arm
                )
            }
        )
    run = SuiteRun(suite, models, folder, seeds)
    run.begin()
    return Findings(suite, run.units, run.play())


KINDS = ("none", "repetition", "reputation", "mediation", "agreements")


@pytest.fixture(scope="module")
def tournament(tmp_path_factory):
    """The tournament of scripts in a game under a mechanism; a game plays all of them at once."""

    @functools.cache
    def tournaments(game):
        arms = [f"{game}-{kind}" for kind in KINDS]
        found = found_in(tmp_path_factory.mktemp(game), *arms)
        return {one.arm: one for one in found.tournaments}

    return lambda game, kind: tournaments(game)[f"{game}-{kind}"]


def led(found):
    """How often best responses lead to each profile."""
    return {profile: share.mean for profile, share in found.ends.items()}


def everybody(kind, game):
    return (kind,) * (3 if game == "pg" else 2)


@pytest.mark.parametrize("game", GAMES)
def test_without_a_mechanism_best_responses_lead_to_defection_alone(tournament, game):
    assert led(tournament(game, "none")) == {everybody(D, game): pytest.approx(1)}


@pytest.mark.parametrize("game", GAMES)
def test_repetition_makes_retaliation_an_equilibrium_beside_defection(tournament, game):
    ends = tournament(game, "repetition").ends
    assert everybody(D, game) in ends
    assert any(set(profile) <= {C, TIT, GRIM} for profile in ends)


@pytest.mark.parametrize("game", GAMES)
def test_reputation_makes_discrimination_an_equilibrium_beside_defection(tournament, game):
    ends = tournament(game, "reputation").ends
    assert everybody(D, game) in ends
    assert any(set(profile) <= {C, DISCRIMINATOR} for profile in ends)


@pytest.mark.parametrize("game", GAMES)
def test_delegating_to_a_mediator_is_an_equilibrium(tournament, game):
    found = tournament(game, "mediation")
    party = next(kind for kind in found.kinds if "party" in kind)
    assert everybody(party, game) in found.ends
    assert not any(C in profile for profile in found.ends)


@pytest.mark.parametrize("game", GAMES)
def test_signing_an_agreement_is_an_equilibrium(tournament, game):
    found = tournament(game, "agreements")
    assert everybody(SIGNATORY, game) in found.ends
    assert not any(C in profile for profile in found.ends)


def test_the_repeated_dilemma_of_scripts_is_the_one_that_is_known(tournament):
    found = tournament("pd", "repetition")
    order = [found.kinds.index(kind) for kind in (C, D, TIT)]
    rows = found.payoffs[np.ix_(order, order)][..., 0]
    assert np.allclose(rows, [[2, 0, 2], [3, 1, 1.4], [2, 0.8, 2]], atol=0.03)


def test_means_medians_and_shares_are_those_of_the_game(tournament):
    found = tournament("pd", "none")
    assert dict(zip(found.kinds, found.medians, strict=True)) == {D: 2.0, C: 1.0}
    assert [one.mean for one in found.means] == [2.0, 1.0]
    assert found.shares[0].mean == pytest.approx(1, abs=1e-3)
    assert [one.mean for one in found.ratings] == pytest.approx([0, -1])
    assert [one.mean for one in found.alone] == [1.0, 2.0]
    assert found.best_lineup[0] == (C, C) and found.best_lineup[1].mean == 2.0


def test_scores_are_between_all_who_defect_and_all_who_cooperate(tmp_path):
    found = found_in(tmp_path, "pd-none", seeds=2)
    scores = {c.model: c.score.mean for c in found.cells if c.metric == "return"}
    assert scores == {D: 1.0, C: 0.0}  # among both kinds one gets 2 or 1; all alike 1 or 2


def test_mixtures_are_played_once_and_seats_turn(tmp_path):
    orders = found_in(tmp_path / "orders", "pd-none", seeds=2)
    mixed = found_in(tmp_path / "mixed", "pd-none", seeds=2, lineups="mixtures")
    one, two = orders.tournaments[0], mixed.tournaments[0]
    assert np.array_equal(one.payoffs, two.payoffs)
    assert len(orders.results) == 16 and len(mixed.results) == 8
    seats = {r.seed: r.focal for r in mixed.results if r.model == C and set(r.lineup) == {C, D}}
    assert seats == {0: (1,), 1: (0,)}


def test_an_arena_seats_all_contestants_at_once_by_turns(tmp_path):
    found = found_in(tmp_path, "pg-none", seeds=3, lineups="arena")
    assert found.tournaments == ()
    assert {r.lineup for r in found.results} == {(D, C, D)}
    seats = [r.focal for r in found.results if r.model == C]
    assert seats == [(1,), (2,), (0,)]


def test_too_many_lineups_are_refused(tmp_path):
    many = [f"script:fixed?move={n}" for n in range(200)]
    with pytest.raises(BadArgument, match="give fewer contestants"):
        found_in(tmp_path, "pg-none", models=many)


def test_framings_double_arms_and_hypotheses_and_change_no_payoff(tmp_path):
    suite = read_suite("mechanisms").framed(["numbers", "story"])
    ids = [arm.id for arm in suite.arm]
    assert "pd-none.numbers" in ids and "pd-none.story" in ids and "clean_up-none" in ids
    told = {one.id: one.arms for one in suite.hypothesis}
    assert told["pd-agreements.story"] == ("pd-agreements.story", "pd-none.story")
    assert told["harvest-mediation"] == ("harvest-mediation", "harvest-none")
    run = SuiteRun(suite.chosen(("pd-agreements.numbers", "pd-agreements.story")), [], tmp_path, 1)
    run.begin()
    one, two = Findings(run.suite, run.units, run.play()).tournaments
    assert np.array_equal(one.payoffs, two.payoffs)


def test_hypotheses_ask_about_contestants_and_not_about_the_roster(tmp_path):
    found = found_in(tmp_path, "pd-mediation", "pd-none", models=["script:grim"], seeds=2)
    tested = [one.about for one in found.hypotheses if not one.not_run]
    assert tested == ["pd-mediation and pd-none with script:grim"]


def test_a_mean_over_mixtures_is_that_of_the_game(tmp_path):
    found = found_in(tmp_path, "pg-none", lineups="mixtures")
    means = dict(zip(found.tournaments[0].kinds, found.tournaments[0].means, strict=True))
    for cell in found.cells:
        if cell.metric == "return":
            assert cell.estimate.mean == pytest.approx(means[cell.model].mean)


def test_what_is_about_others_is_left_out_where_there_are_none(tmp_path):
    suite = read_suite("mechanisms").chosen(("pd-none",))
    others = suite.metric[0].model_copy(update={"id": "others", "of": "others"})
    suite = suite.model_copy(update={"metric": (*suite.metric, others)})
    for lineups in ("mixtures", "each"):
        terms = suite.arm[0].terms.model_copy(update={"lineups": lineups})
        arm = suite.arm[0].model_copy(update={"terms": terms})
        one = suite.model_copy(update={"arm": (arm,)})
        run = SuiteRun(one, (), tmp_path / lineups, 1)
        run.begin()
        found = Findings(one, run.units, run.play())
        told = {cell.model: cell.estimate.mean for cell in found.cells if cell.metric == "others"}
        assert told == ({D: 0.0, C: 3.0} if lineups == "mixtures" else {})
