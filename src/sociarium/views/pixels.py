"""A scene as a picture: smooth ground, things on it, beams, players, and a bar with the numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool
from PIL import Image, ImageDraw

from sociarium.core.scene import Body, Scene
from sociarium.views import (
    bonds,
    colours,
    ground,
    hud,
    kitchen,
    legend,
    lying,
    people,
    sprites,
    stations,
)
from sociarium.views.brush import DETAILED
from sociarium.views.colours import INK, Colour
from sociarium.views.lettering import font, number

LEAST = 4  # pixels a cell
SMALL, LARGE = 14, 32  # pixels a cell where nobody says how many
SIDE = 560  # pixels of a map then
TALL = 1.25  # a player, in cells
GLOW = 0.5  # opacity of a beam
WON: Colour = (255, 246, 200)
LOST: Colour = (255, 150, 140)
RISE = 0.18  # cells a gain rises from picture to picture


class Gain(NamedTuple):
    """Points that somebody just got on a cell, `age` pictures ago."""

    row: int
    col: int
    points: float
    age: int = 0


def picture(
    scene: Scene,
    *,
    size: int = 24,
    scores: hud.BySeat | None = None,
    names: Sequence[str] | None = None,
    caption: str | None = None,
    left: hud.BySeat | None = None,
    gains: Sequence[Gain] = (),
    signs: Sequence[legend.Sign] = (),
) -> Image.Image:
    """The scene with `size` pixels a cell (4 at least), framed by its numbers.

    `scores`, `names` and `left`, what a charter left of the scores, are by seat. `gains` are
    written where they were made, `signs` are explained below. Cells below 10 pixels are drawn flat.
    In a society, who is tied to whom is drawn beside the map.
    """
    image = board(scene, size)
    for gain in gains:
        _write_gain(image, gain, size)
    image = hud.framed(image, scene, scores, names, left, signs)
    if scene.bonds is not None and bonds.shown(scene.bonds):
        image = bonds.beside(image, scene.bonds, hud.MARGIN)
    return hud.headed(image, caption) if caption else image


def fitting(shape: tuple[int, ...]) -> int:
    """Pixels a cell with which a map is neither tiny nor larger than a page."""
    return min(max(SIDE // max(shape), SMALL), LARGE)


def board(scene: Scene, size: int = 24) -> Image.Image:
    """The map alone, without its frame; a scene without a board is a card for each place."""
    size = max(size, LEAST)
    if scene.places:
        return stations.cards(scene, max(size, DETAILED))
    names = tuple(sprites.as_drawn(name, scene) for name in scene.tiles)
    under = tuple(sprites.ground_under(name, names) for name in names)
    plan = np.array([under.index(name) for name in under], np.int32)[scene.ground]
    patches = np.zeros(plan.shape, bool) if scene.region is None else scene.region >= 0
    image = ground.land(under, patches.tobytes(), plan.shape, size).picture(plan)
    _lay_things(image, np.asarray(scene.ground), names, size)
    lots = lying.lots(scene)
    lying.lay(image, lots, size)
    for code, light in enumerate(scene.lights):
        if code and (scene.lit == code).any():
            _shine(image, scene.lit == code, light, size)
    cooks = kitchen.is_kitchen(scene)
    for player in sorted(scene.bodies, key=lambda body: body.row):
        _place(image, player, size, player.seat == scene.me, cooks)
    for player in scene.bodies:
        stations.hold(image, player, player.col * size, player.row * size, size)
    for player in scene.bodies:
        if lot := lots.get((player.row, player.col)):
            lying.peep_out(image, lot, player.row, player.col, size)
    return image


def _place(image: Image.Image, player: Body, size: int, me: bool, cook: bool) -> None:
    """Puts a player on its cell, a little larger than the cell and set back from its front."""
    large = size + 2 if size < DETAILED else round(size * TALL)
    sprite = people.body(player.seat, player.heading, large, me, cook)
    right, down = people.AHEAD[player.heading]
    x = player.col * size - (large - size) * (1 + right) // 2
    y = player.row * size - (large - size) * (1 + down) // 2
    inside = min(max(x, 0), image.width - large), min(max(y, 0), image.height - large)
    image.paste(sprite, inside, sprite)


def _lay_things(image: Image.Image, ground: np.ndarray, names: tuple[str, ...], size: int) -> None:
    """Puts what lies about on the ground."""
    for code, name in enumerate(names):
        if sprites.thing(name) is None:
            continue
        sprite = Image.fromarray(sprites.thing_sprite(name, size))
        for row, col in np.argwhere(ground == code).tolist():
            image.paste(sprite, (col * size, row * size), sprite)


def _shine(image: Image.Image, lit: Bool[np.ndarray, "rows cols"], light: str, size: int) -> None:
    """Lights the cells: a tint, a bright edge, and sparks."""
    colour: Colour = colours.of_light(light)
    rows, cols = (np.flatnonzero(lit.any(axis)) for axis in (1, 0))
    top, left = max(0, int(rows[0]) - 1), max(0, int(cols[0]) - 1)
    near, corner = lit[top : rows[-1] + 2, left : cols[-1] + 2], (left * size, top * size)
    if size < DETAILED:
        mask = ground.blocks(near, size).point([level * 3 // 5 for level in range(256)])
        image.paste(colour, corner, mask)
        return
    field = ground.blurred(near, size, 0.2)
    image.paste(colour, corner, ground.within(field, 0.03, 0.2, size, GLOW))
    edge = np.asarray(ground.within(field, 0.03, 0.2, size), np.int16)
    inner = np.asarray(ground.within(field, -0.05, 0.2, size), np.int16)
    line = Image.fromarray(np.clip(edge - inner, 0, 255).astype(np.uint8))
    image.paste(colours.lighter(colour, 0.35), corner, line)
    sparks = people.sparks(light, size)
    looks = ground.scattered((0, 0, *lit.shape), len(sparks))
    for row, col in np.argwhere(lit).tolist():
        spark = Image.fromarray(sparks[looks[row, col]])
        image.paste(spark, (col * size, row * size), spark)


def _write_gain(image: Image.Image, gain: Gain, size: int) -> None:
    """Writes what somebody got above its head, the higher the longer ago."""
    if size < DETAILED:
        return
    sign = "+" if gain.points > 0 else ""
    letters = font(max(9, round(size * 0.6)))
    ImageDraw.Draw(image).text(
        ((gain.col + 0.5) * size, max(size * 0.6, (gain.row - 0.1 - RISE * gain.age) * size)),
        f"{sign}{number(gain.points)}",
        fill=WON if gain.points > 0 else LOST,
        font=letters,
        anchor="ms",
        stroke_width=2,
        stroke_fill=INK,
    )
