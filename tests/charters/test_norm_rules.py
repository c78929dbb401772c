"""The rule of norms: they are told, and nothing follows."""

import pytest

from sociarium.charters.norm import Norm
from sociarium.core.text import BadText
from tests.charters.living import Life


def test_c1_sentence_and_number_are_told_and_nothing_follows():
    life = Life(Norm("Take {number} pears at most.", 1)).does("ttt", "tt-")
    assert life.rewards == [[1, 1, 1], [1, 1, 0]]
    assert life.law == ("Posted, and enforced by nobody: Take 1 pears at most.",)
    assert life.numbers == {"posted number": 1}
    wrong = Life(Norm("Take {number} pears at most.", 1), **{"norm.number": 2.5})
    assert "Take 2.5 pears" in wrong.law[0] and wrong.numbers == {"posted number": 2.5}
    many = Life(Norm("Take {number} pears at most.", 1_000_000))
    assert "Take 1000000 pears" in many.law[0]
    with pytest.raises(BadText):
        Norm("two\nlines")
