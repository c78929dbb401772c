"""An environment around another one, which forwards whatever it does not change."""

from typing import Any

from jaxtyping import Array, Bool, Float, Int, Key

from sociarium.core.environment import Environment, Transition, View
from sociarium.core.scene import Scene


class Wrapper(Environment[Any, Any]):
    """The `inner` environment as it is; what wraps it overrides the rest."""

    def __init__(self, inner: Environment[Any, Any]) -> None:
        self.inner, self.id = inner, inner.id
        self.players, self.sheet, self.actions = inner.players, inner.sheet, inner.actions
        self.view_spec, self.facets = inner.view_spec, inner.facets
        self.event_specs, self.gauge_specs = inner.event_specs, inner.gauge_specs

    def __getattr__(self, name: str) -> Any:
        """What the inner one has beyond the contract, but no functions of its state."""
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        found = getattr(self.inner, name)
        if callable(found):
            raise AttributeError(f"{type(self).__name__} does not forward {name}()")
        return found

    def default_params(self) -> Any:
        """The inner parameters."""
        return self.inner.params()

    def params(self, **changes: object) -> Any:
        """The inner parameters, some changed by name."""
        return self.inner.params(**changes)

    def reset(self, key: Key[Array, ""], params: Any) -> Any:
        """An inner start state."""
        return self.inner.reset(key, params)

    def step(
        self, key: Key[Array, ""], state: Any, actions: Int[Array, " players"], params: Any
    ) -> tuple[Any, Transition]:
        """An inner step."""
        return self.inner.step(key, state, actions, params)

    def observe(self, state: Any, params: Any) -> View:
        """The inner view."""
        return self.inner.observe(state, params)

    def legal(self, state: Any, params: Any) -> Bool[Array, "players actions"]:
        """What is legal there."""
        return self.inner.legal(state, params)

    def gauges(self, state: Any, params: Any) -> dict[str, Float[Array, ""]]:
        """The inner levels."""
        return self.inner.gauges(state, params)

    def present(self, state: Any) -> Bool[Array, " players"]:
        """Who is in play there."""
        return self.inner.present(state)

    def horizon(self, params: Any) -> Int[Array, ""]:
        """The inner horizon."""
        return self.inner.horizon(params)

    def scene(self, state: Any, params: Any, player: int | None = None) -> Scene:
        """The inner scene."""
        return self.inner.scene(state, params, player)
