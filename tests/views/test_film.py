import numpy as np
import pytest
from PIL import Image

from sociarium.core.errors import BadArgument
from sociarium.core.scene import Body
from sociarium.views import colours
from sociarium.views.film import save_gif, strip
from sociarium.views.pixels import picture
from tests.views.scenes import meadow


def walk(steps):
    """Seat 0 walks east."""
    for step in range(steps):
        body = Body(0, 2, step % 20, 1)
        yield picture(meadow(body, rows=12, cols=20, clock=step), size=16, scores=[step, 0])


def test_a_gif_has_every_frame_and_keeps_their_time(tmp_path):
    path = save_gif(walk(12), tmp_path / "new folder" / "walk.gif", fps=10)
    with Image.open(path) as film:
        assert film.n_frames == 12
        assert film.info["duration"] == 100
        assert film.info["loop"] == 0


def test_frames_look_like_the_pictures_they_were_made_from(tmp_path):
    frames = list(walk(6))
    with Image.open(save_gif(frames, tmp_path / "walk.gif")) as film:
        for number, frame in enumerate(frames):
            film.seek(number)
            error = np.abs(np.asarray(film.convert("RGB")).astype(int) - np.asarray(frame))
            assert error.mean() < 1.5
            assert error.max() < 60


def test_a_rare_colour_survives_the_palette(tmp_path):
    crowd = [Body(seat, seat, seat, 0) for seat in range(10)]
    frames = [picture(meadow(*crowd, players=10, rows=40, cols=40, clock=t)) for t in range(2)]
    with Image.open(save_gif(frames, tmp_path / "crowd.gif")) as film:
        shades = np.array([colour for _, colour in film.convert("RGB").getcolors(1000)])
    for seat in range(10):
        assert np.abs(shades - colours.of_seat(seat)).sum(axis=1).min() < 30


def test_a_frame_stores_only_what_changed(tmp_path):
    one = save_gif(walk(1), tmp_path / "one.gif").stat().st_size
    many = save_gif(walk(20), tmp_path / "many.gif").stat().st_size
    assert many < one + 20 * 3000


def test_a_film_without_frames_or_with_two_sizes_is_refused(tmp_path):
    with pytest.raises(BadArgument, match="at least one"):
        save_gif([], tmp_path / "none.gif")
    small, large = Image.new("RGB", (4, 4)), Image.new("RGB", (5, 4))
    with pytest.raises(BadArgument, match="one size"):
        save_gif([small, large], tmp_path / "two.gif")


def test_a_strip_shows_every_picture_side_by_side():
    red, blue = Image.new("RGB", (30, 20), "red"), Image.new("RGB", (40, 50), "blue")
    row = strip([red, blue], gap=6)
    assert row.size == (76, 50)
    assert row.getpixel((10, 10)) == (255, 0, 0)
    assert row.getpixel((50, 40)) == (0, 0, 255)


def test_a_strip_has_room_for_captions():
    red = Image.new("RGB", (90, 20), "red")
    plain, named = strip([red, red]), strip([red, red], captions=["selfish", "kind"])
    head = named.height - plain.height
    assert head > 10
    above = np.asarray(named.crop((0, 0, 90, head)))
    assert (above > 200).all(axis=-1).any()
