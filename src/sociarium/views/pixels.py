"""A scene as a picture: smooth ground, things on it, beams, players, and a bar with the numbers."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int, UInt8
from PIL import Image, ImageFilter

from sociarium.core.scene import Body, Scene
from sociarium.views import bonds, colours, hud, lying, people, sprites, stations
from sociarium.views.colours import Colour
from sociarium.views.sprites import DETAILED, VARIANTS

LEAST = 4  # pixels a cell
TALL = 1.25  # a player, in cells
GLOW = 0.5  # opacity of a beam
PATCH = 0.13  # opacity of the shade that marks the cells of a region


def picture(
    scene: Scene,
    *,
    size: int = 24,
    scores: hud.BySeat | None = None,
    names: Sequence[str] | None = None,
    caption: str | None = None,
    left: hud.BySeat | None = None,
) -> Image.Image:
    """The scene with `size` pixels a cell (4 at least), framed by its numbers.

    `scores`, `names` and `left`, what a charter left of the scores, are by seat. Cells below 10
    pixels are drawn flat. In a society, who is tied to whom is drawn beside the map.
    """
    image = board(scene, size)
    if scene.bonds is not None and bonds.shown(scene.bonds):
        image = bonds.beside(image, scene.bonds)
    return hud.framed(image, scene, scores, names, caption, left)


def board(scene: Scene, size: int = 24) -> Image.Image:
    """The map alone, without its frame; a scene without a board is a card for each place."""
    size = max(size, LEAST)
    if scene.places:
        return stations.cards(scene, max(size, DETAILED))
    names = tuple(sprites.as_drawn(name, scene) for name in scene.tiles)
    under = tuple(sprites.ground_under(name, names) for name in names)
    plan = np.array([under.index(name) for name in under], np.int32)[scene.ground]
    patches = np.zeros(plan.shape, bool) if scene.region is None else scene.region >= 0
    image = _terrain(under, plan.tobytes(), patches.tobytes(), plan.shape, size).copy()
    _lay_things(image, np.asarray(scene.ground), names, size)
    lots = lying.lots(scene)
    lying.lay(image, lots, size)
    for code, light in enumerate(scene.lights):
        if code and (scene.lit == code).any():
            _shine(image, scene.lit == code, light, size)
    for player in sorted(scene.bodies, key=lambda body: body.row):
        _place(image, player, size, player.seat == scene.me)
    for player in scene.bodies:
        if lot := lots.get((player.row, player.col)):
            lying.peep_out(image, lot, player.row, player.col, size)
    return image


def _place(image: Image.Image, player: Body, size: int, me: bool) -> None:
    """Puts a player on its cell, a little larger than the cell and set back from its front."""
    large = size + 2 if size < DETAILED else round(size * TALL)
    sprite = people.body(player.seat, player.heading, large, me)
    right, down = people.AHEAD[player.heading]
    x = player.col * size - (large - size) * (1 + right) // 2
    y = player.row * size - (large - size) * (1 + down) // 2
    inside = min(max(x, 0), image.width - large), min(max(y, 0), image.height - large)
    image.paste(sprite, inside, sprite)
    stations.hold(image, player.holds, *inside, large)


@lru_cache(maxsize=8)
def _terrain(
    under: tuple[str, ...], plan: bytes, patches: bytes, shape: tuple[int, int], size: int
) -> Image.Image:
    """The ground of the whole map; neighbours of different height overlap with rounded edges."""
    cells = np.frombuffer(plan, np.int32).reshape(shape)
    present = sorted(
        (int(code) for code in np.unique(cells)),
        key=lambda code: sprites.ground(under[code]).height,
    )
    heights = np.array([sprites.ground(name).height for name in under])[cells]
    image = _tiled(under[present[0]], shape, size)
    for code in present[1:]:
        look = sprites.ground(under[code])
        if size < DETAILED:
            image.paste(_tiled(under[code], shape, size), mask=_blocks(cells == code, size))
            continue
        shape_of = _undercut(cells == code, heights > look.height)
        field = _field(shape_of, size, look.roundness, look.wobble)
        for rim in look.rims:
            mask = _within(field, rim.reach, look.roundness, size, rim.opacity)
            image.paste(rim.colour, (0, round(rim.drop * size)), mask)
        image.paste(
            _tiled(under[code], shape, size), mask=_within(field, 0.0, look.roundness, size)
        )
    marked = np.frombuffer(patches, bool).reshape(shape)
    if marked.any():
        mask = _within(_field(marked, size, 0.26), 0.0, 0.26, size, PATCH)
        image.paste(colours.darker(colours.TILES["orchard"], 0.35), mask=mask)
    return image


def _undercut(
    cells: Bool[np.ndarray, "rows cols"], higher: Bool[np.ndarray, "rows cols"]
) -> Bool[np.ndarray, "rows cols"]:
    """The cells and the higher ones around them, so that rounded corners bare what lies beside."""
    rows, cols = cells.shape
    padded = np.pad(cells, 1)
    near = [padded[y : y + rows, x : x + cols] for y in range(3) for x in range(3)]
    return cells | (higher & np.any(near, axis=0))


def _blocks(cells: Bool[np.ndarray, "rows cols"], size: int) -> Image.Image:
    """A mask of whole cells."""
    small = Image.fromarray(np.where(cells, np.uint8(255), np.uint8(0)))
    return small.resize((small.width * size, small.height * size), Image.Resampling.NEAREST)


def _field(
    cells: Bool[np.ndarray, "rows cols"], size: int, roundness: float, wobble: float = 0.0
) -> Image.Image:
    """A mask that falls off across the edge of the cells, over about `roundness` of a cell.

    `wobble` makes the edge wander, as shores do.
    """
    field = _blocks(cells, size).filter(ImageFilter.GaussianBlur(roundness * size))
    if wobble == 0:
        return field
    rows, cols = cells.shape
    coarse = Image.fromarray(_draw((2 * rows + 1, 2 * cols + 1), 256).astype(np.uint8))
    hills = np.asarray(coarse.resize(field.size, Image.Resampling.BICUBIC), np.float32)
    level = np.asarray(field, np.float32) / 255
    near_edge = 4 * level * (1 - level)
    wandering = 255 * level + wobble * near_edge * (hills - 127.5)
    return Image.fromarray(np.clip(wandering, 0, 255).astype(np.uint8))


def _within(
    field: Image.Image, reach: float, roundness: float, size: int, opacity: float = 1.0
) -> Image.Image:
    """The mask of what lies inside an edge, or at most `reach` cells outside it."""
    if roundness == 0:
        return field.point([round(level * opacity) for level in range(256)])
    level = np.arange(256) / 255
    spread = roundness * size
    threshold = 0.5 * math.erfc(reach / (roundness * 2**0.5))
    inside = np.clip((level - threshold) * spread * 2.5 + 0.5, 0, 1)
    return field.point([round(share * 255 * opacity) for share in inside.tolist()])


def _tiled(name: str, shape: tuple[int, int], size: int) -> Image.Image:
    """The whole map covered with one ground."""
    row, col = np.indices(shape)
    looks = _draw(shape, VARIANTS) + VARIANTS * ((row + col) % 2)
    return Image.fromarray(_mosaic(sprites.ground_sprites(name, size), looks))


def _draw(shape: tuple[int, int], many: int) -> Int[np.ndarray, "rows cols"]:
    """A number below `many` for every cell, the same in every picture."""
    row, col = np.indices(shape).astype(np.uint32)
    mix = row * np.uint32(2654435761) ^ col * np.uint32(2246822519)
    mix = (mix ^ mix >> np.uint32(15)) * np.uint32(3266489917)
    return ((mix ^ mix >> np.uint32(13)) % np.uint32(many)).astype(np.int64)


def _mosaic(
    looks: UInt8[np.ndarray, "looks size size bands"], which: Int[np.ndarray, "rows cols"]
) -> UInt8[np.ndarray, "height width bands"]:
    """One look for every cell, side by side."""
    rows, cols = which.shape
    size, bands = looks.shape[1], looks.shape[3]
    return looks[which].swapaxes(1, 2).reshape(rows * size, cols * size, bands)


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
    if size < DETAILED:
        image.paste(colour, mask=_blocks(lit, size).point([level * 3 // 5 for level in range(256)]))
        return
    field = _field(lit, size, 0.2)
    image.paste(colour, mask=_within(field, 0.03, 0.2, size, GLOW))
    edge = np.asarray(_within(field, 0.03, 0.2, size), np.int16)
    inner = np.asarray(_within(field, -0.05, 0.2, size), np.int16)
    line = Image.fromarray(np.clip(edge - inner, 0, 255).astype(np.uint8))
    image.paste(colours.lighter(colour, 0.35), mask=line)
    sparks = people.sparks(light, size)
    looks = _draw(lit.shape, len(sparks))
    for row, col in np.argwhere(lit).tolist():
        spark = Image.fromarray(sparks[looks[row, col]])
        image.paste(spark, (col * size, row * size), spark)
