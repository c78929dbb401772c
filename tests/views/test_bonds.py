import itertools

import numpy as np
import pytest
from PIL import Image

from sociarium.core.scene import Body, Bonds, Circle
from sociarium.views import bonds as graphs
from sociarium.views import colours, crowd, hud, ring
from sociarium.views.film import save_gif
from sociarium.views.pixels import board, picture
from sociarium.views.terminal import text, ties
from tests.views.scenes import meadow


def group(name, *members, shares=()):
    shares = shares or [1 / len(members)] * len(members)
    return Circle(name, dict(zip(members, shares, strict=True)))


PAIRS = ((group("group 0", 0, 1), group("group 1", 2, 3)),)
UNION = ((group("union 0", "group 0", "group 1"),),)
MOMENTS = {
    "nobody tied": Bonds(4, "joining", ((),)),
    "another stage": Bonds(4, "working", ((),)),
    "groups": Bonds(4, "joining", PAIRS),
    "other groups": Bonds(4, "joining", ((group("group 0", 0, 2), group("group 1", 1, 3)),)),
    "other names": Bonds(4, "joining", ((group("group 2", 0, 1), group("group 3", 2, 3)),)),
    "shares": Bonds(4, "joining", ((group("group 0", 0, 1, shares=(0.7, 0.3)), PAIRS[0][1]),)),
    "other shares": Bonds(
        4, "joining", ((group("group 0", 0, 1, shares=(0.3, 0.7)), PAIRS[0][1]),)
    ),
    "union": Bonds(4, "joining", PAIRS + UNION),
    "sight": Bonds(4, "joining", ((),), sight=((0, 1),)),
    "sight back": Bonds(4, "joining", ((),), sight=((1, 0),)),
    "sight both ways": Bonds(4, "joining", ((),), sight=((0, 1), (1, 0))),
    "gift": Bonds(4, "joining", ((),), gifts=((0, 1, 0.1),)),
    "gift back": Bonds(4, "joining", ((),), gifts=((1, 0, 0.1),)),
    "larger gift": Bonds(4, "joining", ((),), gifts=((0, 1, 0.2),)),
    "word": Bonds(4, "joining", ((),), words=((0, -1, 3),)),
    "another word": Bonds(4, "joining", ((),), words=((0, -1, 4),)),
    "another speaker": Bonds(4, "joining", ((),), words=((1, -1, 3),)),
    "word to one": Bonds(4, "joining", ((),), words=((0, 2, 3),)),
    "word to another": Bonds(4, "joining", ((),), words=((0, 3, 3),)),
}


def society(players):
    """Everything at once: groups of two by seat, two unions, sight, gifts and words."""
    groups = [
        group(f"group {n // 2}", *range(n, min(n + 2, players))) for n in range(0, players, 2)
    ]
    names = [circle.name for circle in groups]
    unions = tuple(
        group(f"union {n}", *part) for n, part in enumerate((names[::2], names[1::2])) if part
    )
    near = [(seat, (seat + 1) % players) for seat in range(players) if players > 1]
    return Bonds(
        players,
        "working",
        (tuple(groups), unions),
        sight=tuple(near),
        gifts=tuple((by, to, 0.1) for by, to in near[::3]),
        words=tuple((seat, -1 if seat % 2 else 0, seat) for seat in range(0, players, 4)),
    )


def pixels(image):
    return np.asarray(image.convert("RGB")).astype(int)


def test_every_difference_between_bonds_can_be_seen():
    drawn = {name: pixels(graphs.picture(bonds)) for name, bonds in MOMENTS.items()}
    for one, other in itertools.combinations(drawn, 2):
        assert (np.abs(drawn[one] - drawn[other]).sum(-1) > 60).sum() > 8, (one, other)


def test_the_same_bonds_are_the_same_picture():
    for players in (8, 40):
        one, other = (graphs.picture(society(players)).tobytes() for _ in range(2))
        assert one == other


@pytest.mark.parametrize("players", [1, 2, 3, 4, 5, 7, 8, 12, 13, 20, 32])
def test_every_seat_is_seen_in_its_colour(players):
    image = pixels(graphs.picture(society(players)))
    for seat in range(players):
        assert (image == colours.of_seat(seat)).all(-1).sum() > 40


@pytest.mark.parametrize("players", range(1, 33))
def test_nobody_sits_on_anybody_and_members_sit_side_by_side(players):
    bonds = society(players)
    seated = ring.ring(bonds, 130)
    places = seated.of(range(players))
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    apart += 1000 * np.eye(players)
    assert apart.min() > 2 * seated.player
    assert np.hypot(*places.T).max() + seated.player <= 130.001
    order = [seat for _, block in ring.blocks(bonds) for seat in block]
    for seats in ring.members(bonds).values():
        at = sorted(order.index(seat) for seat in seats)
        assert at[-1] - at[0] == len(at) - 1


def test_groups_that_overlap_still_sit_side_by_side():
    circles = ((0, 1, 4, 5), (2, 3, 6, 7), (0, 1, 2, 3), (4, 5, 6, 7))
    bonds = Bonds(8, layers=(tuple(group(f"group {n}", *c) for n, c in enumerate(circles)),))
    order = [seat for _, block in ring.blocks(bonds) for seat in block]
    for circle in circles:
        inside = [seat in circle for seat in order]
        assert sum(one != other for one, other in itertools.pairwise([*inside, inside[0]])) == 2


def test_a_film_of_a_society_keeps_still(tmp_path):
    frames = [
        picture(meadow(Body(0, 2, 3, 0), players=4, bonds=bonds, clock=step))
        for step, bonds in enumerate(MOMENTS.values())
    ]
    assert len({frame.size for frame in frames}) == 1
    with Image.open(save_gif(frames, tmp_path / "society.gif")) as film:
        assert film.n_frames == len(frames)


@pytest.mark.parametrize("rows", [4, 30])
def test_the_graph_stands_beside_the_map(rows):
    scene = meadow(Body(0, 2, 3, 0), players=4, rows=rows, bonds=MOMENTS["groups"])
    both, alone = picture(scene), picture(meadow(Body(0, 2, 3, 0), players=4, rows=rows))
    assert both.width > alone.width + 200
    place = ((alone.width - 7 * 24) // 2, hud.MARGIN)
    corner = both.crop((*place, place[0] + 7 * 24, place[1] + rows * 24))
    assert corner.tobytes() == board(scene).tobytes()


def test_without_a_charter_there_is_nothing_beside_the_map():
    plain, free = meadow(Body(0, 2, 3, 0)), meadow(Body(0, 2, 3, 0), bonds=Bonds(2))
    assert picture(plain).tobytes() == picture(free).tobytes()
    assert text(plain, colour=False).plain == text(free, colour=False).plain


@pytest.mark.parametrize("players", range(1, 41))
def test_any_number_of_players_can_be_drawn(players):
    image = graphs.picture(society(players), 360)
    assert image.width <= graphs.WIDEST
    assert image.height == max(360, graphs.SIDES[(players > 8) + (players > 16)][1])


def test_a_large_society_is_drawn_by_the_size_of_its_groups():
    few = Bonds(300, "", ((group("group 0", *range(50)), group("group 1", *range(50, 60))),))
    more = Bonds(300, "", ((group("group 0", *range(80)), group("group 1", *range(80, 90))),))
    many = Bonds(300, "", (tuple(group(f"group {n}", n) for n in range(300)),))
    images = [pixels(graphs.picture(bonds)) for bonds in (few, more, many)]
    assert len({image.shape for image in images}) == 1
    assert (np.abs(images[0] - images[1]).sum(-1) > 30).sum() > 200


@pytest.mark.parametrize("radii", [[9, 5, 5, 3, *[1] * 12], [30, *[1] * 60], [2] * 80, [4]])
def test_blobs_do_not_overlap(radii):
    places, whole = crowd.packed(radii)
    for (a, one), (b, other) in itertools.combinations(zip(places, radii, strict=True), 2):
        assert np.hypot(a[0] - b[0], a[1] - b[1]) >= one + other
    assert all(np.hypot(*place) + r <= whole + 1e-6 for place, r in zip(places, radii, strict=True))


def test_ties_are_told_in_two_lines():
    bonds = Bonds(
        5,
        "joining",
        ((group("group 0", 0, 2, 3), group("group 1", 1)),),
        sight=((0, 2), (1, 3), (3, 1)),
        gifts=((0, 2, 0.1),),
        words=((4, -1, 7), (2, 0, 31)),
    )
    assert ties(bonds) == [
        "joining   groups: 0 {0 2 3}  1 {1}",
        "sight: 1<>3  0>2   gifts: 0>2 10%   words: 4>all 7  2>0 31",
    ]


def test_shares_and_unions_are_told():
    bargain = group("coalition 1", 1, 3, shares=(0.32, 0.68))
    assert ties(Bonds(4, "working", ((bargain,),))) == ["working   coalitions: 1 {1 32%, 3 68%}"]
    assert ties(Bonds(4, "", PAIRS + UNION)) == ["groups: 0 {0 1}  1 {2 3}   unions: 0 {0 1}"]


def test_what_cannot_be_told_in_full_is_told_in_short():
    everybody = tuple(itertools.permutations(range(3), 2))
    assert ties(Bonds(3, "isolation", ((),), sight=everybody)) == [
        "isolation   groups: none",
        "sight: all",
    ]
    assert ties(Bonds(40, "", ((group("group 4", *range(12)),),))) == ["groups: 4 (12)"]
    ring_of_sight = tuple((seat, (seat + 1) % 30) for seat in range(30))
    assert ties(Bonds(30, "", sight=ring_of_sight))[0].endswith("23>24  ...")
    assert ties(None) == []


def test_ties_stand_under_the_numbers():
    scene = meadow(Body(1, 2, 3, 0), players=4, bonds=MOMENTS["groups"])
    told = "joining   groups: 0 {0 1}  1 {2 3}"
    *_, status, line, legend = text(scene, colour=False).plain.split("\n")
    assert (status, line) == ("step 20/100   apples 3", told)
    assert legend.startswith(". grass")
    assert text(scene).plain.split("\n")[-1] == told
