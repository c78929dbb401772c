"""Rule sheets, read from docstrings."""

import pytest

from sociarium.core.rules import RuleSheet

SHEET = """Coins: a game of two colours (Lerer and Peysakhovich, 2017).

Some words that are not a rule.

Rules
  R1  Taking any coin pays 1.
  R2  Taking the other's coin costs them 2,
      however often it is done.
  C1  A contract may be signed.
Differs from SocialJax: nothing of note,
      really.
Differs from Melting Pot: more.
"""


def test_a_sheet_has_title_summary_paper_rules_and_departures():
    assert RuleSheet.read(SHEET) == RuleSheet(
        title="Coins",
        summary="a game of two colours",
        paper="Lerer and Peysakhovich, 2017",
        rules={
            "R1": "Taking any coin pays 1.",
            "R2": "Taking the other's coin costs them 2, however often it is done.",
            "C1": "A contract may be signed.",
        },
        departures=(
            "Differs from SocialJax: nothing of note, really.",
            "Differs from Melting Pot: more.",
        ),
    )


def test_a_sheet_may_have_no_paper_and_no_departures():
    sheet = RuleSheet.read("Meadow: grass (mostly).\n\nRules\n  R1  Grass grows.\n")
    assert (sheet.summary, sheet.paper, sheet.departures) == ("grass (mostly)", "", ())


def test_a_printed_sheet_reads_back_as_itself():
    sheet = RuleSheet.read(SHEET)
    assert RuleSheet.read(str(sheet)) == sheet
    assert str(sheet).splitlines()[0] == SHEET.splitlines()[0]


@pytest.mark.parametrize("first", ["A module about coins.", "Coins: no full stop", ": nothing."])
def test_a_docstring_with_another_first_line_is_refused(first):
    with pytest.raises(ValueError, match="starts with 'Title: sentence"):
        RuleSheet.read(f"{first}\n\nRules\n  R1  A rule.\n")


@pytest.mark.parametrize("docstring", [None, "", "   \n  "])
def test_a_module_without_a_docstring_is_refused(docstring):
    with pytest.raises(ValueError, match="rule sheet"):
        RuleSheet.read(docstring)


def test_a_sheet_without_rules_is_refused_by_its_title():
    with pytest.raises(ValueError, match="'Coins' has no numbered rules"):
        RuleSheet.read("Coins: a game.\n\nRules\n  Taking a coin pays 1.\n")
