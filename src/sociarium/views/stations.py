"""A scene without a board: a card for each place, with what lies there and who is there."""

from PIL import Image, ImageDraw

from sociarium.core.scene import Place, Scene
from sociarium.views import colours, goods, lying, people
from sociarium.views.lettering import BACK, CARD, LETTER, QUIET, TEXT, cut, font, length, written

ABREAST = 4  # cards in a row
GAP = 6
AT_WORK: colours.Colour = (255, 196, 84)


def cards(scene: Scene, size: int) -> Image.Image:
    """All places, with figures of `size` pixels."""
    lots = lying.lots(scene)
    room = max(4, min(scene.players, 6))
    names = [written(place.name) for place in scene.places]
    width = max(room * size, *(length(name) for name in names)) + 4 * GAP
    height = LETTER + 2 * size + 5 * GAP
    across = min(ABREAST, len(scene.places))
    down = -(-len(scene.places) // across)
    image = Image.new(
        "RGB",
        (across * (width + GAP) + GAP, down * (height + GAP) + GAP),
        colours.darker(BACK, 0.2),
    )
    for number, place in enumerate(scene.places):
        row, col = divmod(number, across)
        card = _card(scene, number, place, lots.get((0, number)), (width, height), size)
        image.paste(card, (GAP + col * (width + GAP), GAP + row * (height + GAP)))
    return image


def _card(
    scene: Scene,
    number: int,
    place: Place,
    lot: lying.Lot | None,
    extent: tuple[int, int],
    size: int,
) -> Image.Image:
    """One place: its name, whether it is at work, what lies there, and the players at it."""
    width, height = extent
    image = Image.new("RGB", extent, CARD)
    draw = ImageDraw.Draw(image)
    draw.text((2 * GAP, GAP), written(place.name), font=font(LETTER), fill=TEXT)
    if place.busy:
        told = f"{place.busy}"
        draw.text((width - 2 * GAP, GAP), told, font=font(LETTER), fill=AT_WORK, anchor="ra")
        draw.rectangle((0, height - 3, width, height), fill=AT_WORK)
    top = LETTER + 2 * GAP
    for spot, (name, units) in enumerate(lot.goods if lot else ()):
        icon = goods.icon(name, size)
        image.paste(icon, (2 * GAP + spot * (size + GAP), top), icon)
        if units > 1:
            at = (2 * GAP + spot * (size + GAP) + size, top + size)
            draw.text(at, str(units), font=font(LETTER), fill=QUIET, anchor="rs")
    here = [body for body in scene.bodies if body.col == number]
    step = min(size, (width - 4 * GAP - size) // max(len(here) - 1, 1)) if here else size
    for spot, body in enumerate(here):
        x, y = 2 * GAP + spot * step, top + size + GAP
        figure = people.body(body.seat, body.heading, size, body.seat == scene.me)
        image.paste(figure, (x, y), figure)
        hold(image, body.holds, x, y, size)
    return image


def hold(image: Image.Image, holds: tuple[str, ...], x: int, y: int, size: int) -> None:
    """Puts what a player has in its hands on the player whose picture begins at (x, y)."""
    small = max(6, size // 2)
    for number, name in enumerate(holds):
        icon = goods.icon(name, small)
        image.paste(icon, (x + size - small - number * small // 2, y + size - small), icon)


def panel(scene: Scene) -> list[Image.Image]:
    """A chip for each line of the panel that everybody sees, with a bar of the time left for it."""
    chips = []
    for entry in scene.shared:
        name = cut(written(entry.name), 20 * LETTER)
        width = length(name) + 2 * GAP
        chip = Image.new("RGB", (width, LETTER + 10), CARD)
        draw = ImageDraw.Draw(chip)
        draw.text((GAP, 3), name, font=font(LETTER), fill=TEXT)
        if entry.whole:
            left = round(width * min(1, max(0, entry.left / entry.whole)))
            draw.rectangle((0, LETTER + 7, left, LETTER + 10), fill=AT_WORK)
        chips.append(chip)
    return chips
