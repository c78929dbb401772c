"""Untrusted text and JSON: what is removed, what is refused, and what an answer then means."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sociarium.core.decision import (
    MOST_TRACE,
    MOST_USAGE,
    BadAnswer,
    Decision,
    Reply,
    as_decision,
    as_reply,
    parse_reply,
)
from sociarium.core.text import BadText, read_json, refuse_text, strip_text

FORBIDDEN = "\x00\x07\r\x1b\x7f\x85\xad\u034f\u061c\u115f\u200b\u200d\u202e\u2028\u2029\u2066"
FORBIDDEN += "\u2800\u3164\ufe0f\ufeff\ufff9\ufffe\ue000\U000e0041\U000e0100\ud800\udfff\u0378"
NOT_DRAWN = {  # of Unicode's default ignorable characters, and the empty braille cell
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164),
    *(0xFFA0, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
}
CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

letters = st.one_of(
    st.sampled_from(FORBIDDEN + "\t\n e\u0301\u0327한\u1100\u1161ﬁÅ\u212b😀\xa0"),
    st.characters(codec="utf-8"),
    st.integers(0, sys.maxunicode).map(chr),
)
texts = st.text(letters, max_size=40)


def bad_letters(text, allowed=""):
    return [
        one
        for one in text
        if (unicodedata.category(one) in CATEGORIES or ord(one) in NOT_DRAWN) and one not in allowed
    ]


@given(texts)
def test_stripped_text_has_no_forbidden_character_and_is_normal(text):
    for multiline, allowed in ((True, "\t\n"), (False, "")):
        clean, removed = strip_text(text, multiline=multiline)
        assert not bad_letters(clean, allowed)
        assert unicodedata.is_normalized("NFC", clean)
        assert strip_text(clean, multiline=multiline) == (clean, 0)
        kept = "".join(one for one in text if one not in bad_letters(text, allowed))
        assert removed == len(text) - len(kept)
        assert clean == unicodedata.normalize("NFC", kept)


@given(texts)
def test_text_is_accepted_exactly_if_nothing_would_be_changed(text):
    fine = strip_text(text, multiline=False) == (text, 0)
    try:
        assert refuse_text(text, most=40) == text and fine
    except BadText:
        assert not fine


def test_no_normal_form_brings_a_forbidden_character_back():
    every = (chr(code) for code in range(sys.maxunicode + 1))
    changed = [letter for letter in every if unicodedata.normalize("NFC", letter) != letter]
    assert len(changed) > 1000
    for letter in changed:
        assert not bad_letters(strip_text(letter)[0]), hex(ord(letter))


@pytest.mark.parametrize("letter", FORBIDDEN)
def test_each_forbidden_character_is_named(letter):
    assert strip_text(f"a{letter}b") == ("ab", 1)
    with pytest.raises(BadText, match=rf"U\+{ord(letter):04X}, at character 1"):
        refuse_text(f"a{letter}b")


def test_what_is_refused_says_why():
    for text, why in (("x" * 101, "101 characters"), ("e\u0301", "normal form"), ("a\nb", "0A")):
        with pytest.raises(BadText, match=why):
            refuse_text(text)
    assert refuse_text("a\nb", multiline=True) == "a\nb"
    assert refuse_text("naïve 漢字 😀") == "naïve 漢字 😀"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(json_values)
def test_json_is_read_as_it_was_written(value):
    assert read_json(json.dumps(value).encode()) == value


BAD_JSON = {
    b'{"a": 1, "a": 2}': "'a' twice",
    b'[{"b": {"a": 1, "c": 1, "a": 1}}]': "'a' twice",
    b'{"\\u0061": 1, "a": 1}': "'a' twice",
    b"[NaN]": "NaN",
    b"[-Infinity]": "Infinity",
    b"1e999": "too large",
    b"-1e999": "too large",
    b"9" * 10_000: "digits",
    b"[" * 60_000: "deep",
    b'{"a":' * 10_000: "deep",
    b"[" * 100 + b"]" * 100: "deep",
    b"\xff": "UTF-8",
    b"{'a': 1}": "not JSON",
    b"": "not JSON",
    b"{} {}": "not JSON",
    b" " * 70_000: "bytes",
}


@pytest.mark.parametrize("data", BAD_JSON, ids=lambda data: str(data[:20]))
def test_ambiguous_or_unbounded_json_is_refused(data):
    with pytest.raises(BadText, match=BAD_JSON[data]):
        read_json(data)


@given(texts)
def test_messages_are_stripped_and_what_was_removed_is_counted(text):
    clean, removed = strip_text(text)
    if not clean:
        with pytest.raises(BadAnswer):
            as_decision({"say": {"text": text}})
        return
    said = as_decision({"say": {"text": text, "to": 2}}).say
    assert (said.text, said.removed, said.to) == (clean, removed, 2)
    assert Decision.model_validate_json(Decision(say=said).model_dump_json()).say.text == clean


@given(texts)
def test_names_in_a_decision_are_refused_or_kept(text):
    fine = strip_text(text, multiline=False) == (text, 0)
    for field in ("action", "thing"):
        try:
            assert getattr(as_decision({field: text}), field) == text and fine
        except BadAnswer as error:
            assert not fine and str(error).isprintable()
    try:
        assert as_decision({"draft": {"what": text, "fine": 1.0}}).draft.what == text and fine
    except BadAnswer:
        assert not (fine and text)


def test_a_decision_is_meant_by_several_kinds_of_answer():
    assert as_decision(None) == Decision() and as_decision("north") == Decision(action="north")
    asked = {"skill": "go_to", "place": [1, 2]}
    assert as_decision(asked) == as_decision({**asked, "place": (1, 2)})
    assert as_decision(asked).arguments == {"place": (1, 2)}
    with pytest.raises(ValidationError):
        as_decision(asked).skill = "wait"


BAD_ANSWERS = (
    3, ["north"], {"actions": "north"}, {"place": [1, "2"]}, {"place": [1]}, {"place": [True, 1]},
    {"place": [-1, 0]}, {"steps": 0}, {"steps": 1.0}, {"skill": ""}, {"say": "hi"},
    {"say": {"text": "hi", "removed": 2}}, {"say": {"text": "x" * 2001}}, {"player": -1},
    {"draft": {"what": "zapped", "fine": float("inf")}}, {"vote": {"clause": 1, "yes": 1}},
)  # fmt: skip


@pytest.mark.parametrize("answer", BAD_ANSWERS, ids=str)
def test_what_is_no_decision_is_refused_in_one_sentence(answer):
    for ask in (as_decision, lambda answer: as_reply(answer, (0,))):
        with pytest.raises(BadAnswer) as refused:
            ask(answer)
        assert str(refused.value).isprintable()
    if isinstance(answer, dict) and "Infinity" not in json.dumps(answer):
        with pytest.raises(BadAnswer):
            parse_reply(json.dumps(answer).encode(), (0,))


def test_a_reply_is_by_seat_or_one_decision_for_one_seat():
    north = Decision(action="north")
    assert as_reply("north", (3,)) == Reply({3: north}) == as_reply({3: "north"}, (3,))
    assert as_reply({3: "north", 4: None}, (3, 4)) == Reply({3: north, 4: Decision()})
    assert as_reply({}, (3, 4)) == Reply() and as_reply({}, (3,)) == Reply({3: Decision()})
    assert as_reply({4: "north"}, (3, 4)) == as_reply(Reply({4: north}), (3, 4))
    assert parse_reply(b'{"action": "north"}', (3,)) == Reply({3: north})
    whole = b'{"decisions": {"3": {"action": "north"}}, "usage": {"tokens": 5}, "trace": [1]}'
    assert parse_reply(whole, (3, 4)) == Reply({3: north}, {"tokens": 5.0}, [1])
    assert parse_reply(b'{"pause": "quo\\u200bta"}', (3, 4)) == Reply(pause="quota")


def reply_with(**parts):
    """A reply as a careless program makes it: nothing checks the types of its parts."""
    reply = Reply()
    for name, part in parts.items():
        object.__setattr__(reply, name, part)
    return reply


CYCLE = []
CYCLE += [CYCLE, CYCLE]
BAD_REPLIES = (
    reply_with(decisions={5: Decision()}),
    reply_with(decisions={True: Decision()}),
    reply_with(decisions={3: 7}),
    reply_with(decisions=None),
    reply_with(pause=None),
    reply_with(usage={"t": float("nan")}),
    reply_with(usage={"t": "5"}),
    reply_with(usage={"t": True}),
    reply_with(usage={3: 5.0}),
    reply_with(usage={"a\u202e": 5.0}),
    reply_with(usage={str(number): 1.0 for number in range(MOST_USAGE + 1)}),
    reply_with(trace="x" * MOST_TRACE),
    reply_with(trace=object()),
    reply_with(trace=CYCLE),
    reply_with(trace=[float("inf")]),
    {5: "north"},
    "north",
    None,
    {"action": "x"},
)


@pytest.mark.parametrize("answer", BAD_REPLIES, ids=range(len(BAD_REPLIES)))
def test_what_is_no_reply_for_two_seats_is_refused(answer):
    with pytest.raises(BadAnswer) as refused:
        as_reply(answer, (3, 4))
    assert str(refused.value).isprintable()


BAD_WIRES = (
    b'{"action": "north"}', b"[]", b'"north"', b"null", b'{"decisions": {"5": {}}}',
    b'{"decisions": {"03": {}}}', b'{"decisions": {"3": {"actions": 1}}}', b'{"decisions": []}',
    b'{"decisions": {"3": {}, "3": {}}}', b'{"decisions": {}, "reward": 1}', b'{"pause": 1}',
    b'{"usage": {"t": 1e999}}', b'{"usage": {"t": true}}', b'{"usage": []}', b"{",
    b'{"usage": {"t": ' + b"9" * 400 + b"}}",
)  # fmt: skip


@pytest.mark.parametrize("answer", BAD_WIRES)
def test_what_is_no_reply_over_the_wire_is_refused(answer):
    with pytest.raises(BadAnswer):
        parse_reply(answer, (3, 4))


@pytest.mark.parametrize("number", [-1, -0.001, float("nan"), float("inf"), True])
def test_usage_of_an_agent_is_a_finite_number_from_zero(number):
    with pytest.raises(BadAnswer, match="usage of tokens"):
        as_reply(Reply({0: Decision()}, {"tokens": number}), [0])
