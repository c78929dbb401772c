"""What the signs on a map mean: a small picture and its name for each, below the map."""

from functools import lru_cache
from typing import Literal, NamedTuple

from PIL import Image, ImageDraw

from sociarium.core.scene import Scene
from sociarium.views import colours, goods, kitchen, lying, people, sprites
from sociarium.views.lettering import BACK, QUIET, font, length, written

ICON = 18
LETTERS = 12  # height of the names
GREYED = "grey: out of play"
OF_SEAT = "its player's colour"
WORKSHOP = "place to make"


class Sign(NamedTuple):
    """A sign by its name and what sort of sign it is."""

    sort: Literal["tile", "beam", "goods", "place", "beast", "greyed"]
    name: str


def signs_of(scene: Scene, greyed: bool = False) -> tuple[Sign, ...]:
    """The signs that can occur in films that begin with this scene.

    `greyed` says whether anybody leaves play in it. What has an owner stands there once.
    """
    drawn = [sprites.as_drawn(name, scene) for name in scene.tiles if name != "nothing"]
    owned = dict.fromkeys(colours.owned(name)[0] for name in drawn)
    found = [Sign("tile", name) for name in owned]
    found += [Sign("beam", name) for name in scene.lights[1:]]
    held = dict.fromkeys(kind for holding in scene.holdings for kind in holding)
    found += [Sign("goods", name) for name in held if name not in owned]
    found += [Sign("place", name) for name in _places(scene)]
    beasts = sorted({thing.name for thing in scene.things if thing.sort == "beast"})
    found += [Sign("beast", name) for name in beasts]
    return (*found, *[Sign("greyed", GREYED)] * greyed)


def _places(scene: Scene) -> list[str]:
    """Stations by their names, all other places as one; none where a card names each."""
    names = [] if scene.places else [thing.name for thing in scene.things if thing.sort == "place"]
    kinds = {kitchen.kind_of(name) for name in names}
    told = [kind for kind in kitchen.STATIONS if kind in kinds]
    told = [sign for kind in told for sign in (kind, *(kitchen.STATES if kind == "pot" else ()))]
    return told + [WORKSHOP] * any(not kitchen.has_look(name) for name in names)


@lru_cache(maxsize=512)
def chip(sign: Sign) -> Image.Image:
    """A sign as a picture."""
    text = _told(sign)
    image = Image.new("RGB", (ICON + 5 + length(text, LETTERS), ICON), BACK)
    icon = _icon(sign)
    image.paste(icon, (0, 0), icon)
    draw = ImageDraw.Draw(image)
    draw.text((ICON + 5, ICON // 2 + LETTERS // 3), text, QUIET, font(LETTERS), "ls")
    return image


def _told(sign: Sign) -> str:
    name = written(sign.name.replace("_", " "))
    if sign.sort == "beam":
        return f"{name} beam"
    return f"{name} ({OF_SEAT})" if sign.name in sprites.COLOURED else name


def _icon(sign: Sign) -> Image.Image:
    if sign.sort == "goods":
        return goods.icon(sign.name, ICON)
    if sign.sort == "place" and sign.name != WORKSHOP:
        return kitchen.station(*kitchen.STATES.get(sign.name, (sign.name, "", None)), ICON)
    if sign.sort == "place":
        return lying.place_sprite("", "hammer", ICON, False)
    if sign.sort == "beast":
        return lying.beast_sprite(sign.name, ICON)
    if sign.sort == "greyed":
        return people.faded(people.body(0, 0, ICON))
    if sign.sort == "tile" and sprites.thing(sign.name) is not None:
        return Image.fromarray(sprites.thing_sprite(sign.name, ICON))
    icon = Image.new("RGBA", (ICON, ICON))
    corners = Image.new("L", (ICON, ICON))
    ImageDraw.Draw(corners).rounded_rectangle((0, 1, ICON - 1, ICON - 2), 4, fill=255)
    if sign.sort == "beam":
        icon.paste(colours.of_light(sign.name), (0, 0, ICON, ICON), corners)
        spark = Image.fromarray(people.sparks(sign.name, ICON)[0])
        icon.alpha_composite(spark)
    else:
        look = Image.fromarray(sprites.ground_sprites(sign.name, ICON)[0])
        icon.paste(look, (0, 0), corners)
    return icon
