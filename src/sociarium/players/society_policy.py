"""A player of a bare world in a society: works as it does without a charter, with a social policy.

A social policy decides what it does socially: nothing, unless the seat names one, as in
`script:cooperator?social=signer`. While the world stands still it waits. Who works sees nothing of
the charter, unless it `sees_law`.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from sociarium.charters.article import NONE, STANDS_STILL
from sociarium.core.actions import STAY
from sociarium.core.environment import View
from sociarium.mechanics.layout import merged
from sociarium.players.protocol import PurePlayer
from sociarium.players.scripted.social import SocialPolicy


class SocietyPolicy(eqx.Module):
    """`worker` in the world of a society, and `social_policy` for everything social.

    The world has the first `deeds` actions, and then come `social` ones; after them all of these
    beside something that costs no action. Where a code about oneself tells the `stage`, the worker
    waits while the world stands still.
    """

    worker: PurePlayer
    social_policy: SocialPolicy
    deeds: int = eqx.field(static=True)
    social: int = eqx.field(static=True)
    stage: int | None = eqx.field(static=True)

    def begin(self, key: Key[Array, ""]) -> tuple[Any, Any]:
        """What both remember."""
        return self.worker.begin(key), self.social_policy.begin(key)

    def act(
        self,
        key: Key[Array, ""],
        view: View,
        legal: Bool[Array, " actions"],
        memory: tuple[Any, Any],
    ) -> tuple[Int[Array, ""], tuple[Any, Any]]:
        """A social action where the social policy asks for one, else work, or work beside it."""
        working, social = memory
        alone = self.deeds + self.social  # actions that are done beside nothing else
        may = jnp.concatenate([legal[self.deeds : alone], legal[alone::alone]])
        chosen, social = self.social_policy.act(key, view, may, social)
        sees_law = getattr(self.worker, "sees_law", False)
        seen = view if sees_law else eqx.tree_at(lambda v: v.social, view, None)
        deed, worked = self.worker.act(key, seen, legal[: self.deeds], working)
        if self.stage is not None:
            assert view.social is not None
            rests = view.social.own[self.stage] == STANDS_STILL
            deed, worked = jnp.where(rests, STAY, deed), merged(rests, working, worked)
        beside = chosen - self.social  # which of those that cost no action, if any
        works = (chosen == NONE) | (beside >= 0)
        social = self.social_policy.carried(view, jnp.where(works, deed, STAY), social)
        deed = jnp.where(works, deed, self.deeds + chosen)
        deed = jnp.where(beside >= 0, deed + alone * (beside + 1), deed)
        return deed.astype(jnp.int32), (worked, social)
