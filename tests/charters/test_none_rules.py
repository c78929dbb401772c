"""The rule of having no charter."""

import sociarium
from tests.charters.sharing import circumstances, shared


def test_c1_nothing_is_shared():
    society = sociarium.make("coins+none")
    params = society.params()
    state = society.reset(sociarium.key(0), params)
    now = circumstances(society)
    assert shared(society.charter, [5, -3], state.social, now, params.charter) == [5, -3]
    seen = society.observe(state, params).social
    assert seen.windows.shape[1] == 0 and seen.own.shape[1] == 0
    assert society.actions == society.world.actions
