"""Every algorithm of the table can be made, and settings are read as what they are."""

import jax
import pytest

import sociarium
from sociarium.core.errors import BadArgument, UnknownName
from sociarium.learning import preferences, presets
from sociarium.learning.learner_batch import Trainer


@pytest.mark.parametrize("name", presets.ALGORITHMS)
def test_every_preset_makes_a_trainer(name):
    made, trainer = presets.make_config(name, {})
    assert made.lanes > 0 and made.num_steps > 0
    chosen = trainer(sociarium.make("coins"), made)
    assert isinstance(chosen, Trainer)
    wish = preferences.parse(presets.find(name).preference, 2)
    learner = jax.eval_shape(chosen.begin, sociarium.key(0), made, wish)
    assert all(hasattr(learner, field) for field in chosen.per_lane)


def test_what_is_set_wins_over_the_preset():
    made, _ = presets.make_config("recppo", {"core": "gru", "lanes": 3})
    assert (made.network.core, made.lanes) == ("gru", 3)
    assert presets.make_config("recppo", {})[0].network.core == "lstm"


def test_text_is_read_as_the_kind_of_value_it_replaces():
    words = {"lanes": "1_024", "clip_eps": "1e-1", "shared": "False", "core": "gru", "anneal": "1"}
    settings = presets.parse_settings("ippo", words)
    assert settings == {
        "lanes": 1024,
        "clip_eps": 0.1,
        "shared": False,
        "core": "gru",
        "anneal": True,
    }
    made, _ = presets.make_config("ippo", settings)
    assert made.lanes == 1024 and not made.network.shared


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ({"lanes": "many"}, "lanes must be a whole number; given 'many'"),
        ({"clip_eps": "little"}, "clip_eps must be a number"),
        ({"shared": "perhaps"}, "shared must be true or false"),
    ],
)
def test_text_of_another_kind_is_refused(words, answer):
    with pytest.raises(BadArgument, match=answer):
        presets.parse_settings("ippo", words)


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean mappo"):
        presets.find("mapo")
    with pytest.raises(UnknownName, match="Did you mean learning_rate"):
        presets.parse_settings("ippo", {"learningrate": "1"})
    with pytest.raises(UnknownName, match="It is called lanes here"):
        presets.make_config("ippo", {"num_envs": 3})
    with pytest.raises(UnknownName, match="It is called entropy_coef here"):
        presets.parse_settings("mappo", {"ent_coef": "0.1"})
    with pytest.raises(UnknownName, match="setting of ippo"):
        presets.make_config("ippo", {"updates": 3})
    with pytest.raises(UnknownName, match="own, views, state"):
        presets.make_config("ippo", {"critic_sees": "everything"})


def test_every_preference_says_what_it_wants():
    assert preferences.SUMMARIES.keys() == preferences.FORMS.keys()
