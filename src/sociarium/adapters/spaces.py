"""What Gymnasium and PettingZoo are told about a table: what is shown and what can be done."""

import numpy as np
from gymnasium import spaces

from sociarium.adapters.table import Table


def shown(table: Table) -> spaces.Space:
    """What one player is shown."""
    observer, spec = table.observer, table.env.view_spec
    if observer is not None:
        dtype = observer.dtype.type
        return spaces.Box(dtype(observer.low), dtype(observer.high), observer.shape, dtype)
    highest = np.array([len(plane.codes) - 1 for plane in spec.planes], np.uint8)
    shape = (len(spec.planes), spec.rows, spec.cols)
    high = np.broadcast_to(highest[:, None, None], shape)
    cells = spaces.Box(np.zeros(shape, np.uint8), high, dtype=np.uint8)
    if not spec.own:
        return spaces.Dict({"cells": cells})
    low, high = ([getattr(n, bound) for n in spec.own] for bound in ("low", "high"))
    own = spaces.Box(np.array(low, np.int16), np.array(high, np.int16), dtype=np.int16)
    return spaces.Dict({"cells": cells, "own": own})


def done(table: Table) -> spaces.Discrete:
    """What one player can do."""
    return spaces.Discrete(len(table.env.actions))


def mask(table: Table) -> spaces.MultiBinary:
    """Which actions are legal, as zeros and ones."""
    return spaces.MultiBinary(len(table.env.actions))
