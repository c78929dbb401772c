"""`sociarium trace` and `sociarium export`: pages and files of runs, also in a browser."""

import base64
import io
import sys

import pytest
from PIL import Image

import sociarium
from sociarium.arena.match_folder import MatchFolder, Terms
from sociarium.arena.run_trace import read_trace
from sociarium.arena.trace_story import MapPictures, tell_page
from sociarium.cli.main import main
from tests.arena.test_run_trace import HOSTILE, data_of
from tests.arena.traced import note, traced_run, tracer_of
from tests.players.attacks import ATTACKS


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["sociarium", *map(str, words)])
    main()


def test_a_page_shows_the_map_before_every_step(monkeypatch, tmp_path, capsys):
    folder, terms, env = MatchFolder(tmp_path / "run"), Terms(steps=3), sociarium.make("coins")
    match = terms.match(env, "random*2", 0, lambda done, total: None, folder)
    folder.begin(match, "coins", "random*2", 0, terms)
    match.run()
    folder.close()
    traced_run(tmp_path / "run")
    run(monkeypatch, "trace", tmp_path / "run", "--out", tmp_path / "page.html")
    assert "3 decisions, 4 pictures" in capsys.readouterr().err
    data = data_of((tmp_path / "page.html").read_text())
    assert [step for step, _ in data["frames"]] == [0, 1, 2, 3]
    picture = data["pictures"][0].removeprefix("data:image/png;base64,")
    assert Image.open(io.BytesIO(base64.b64decode(picture))).mode == "P"
    (seat,) = data["seats"]
    assert seat["player"] == "random" and len(seat["acts"]) == 3
    assert data["actions"][0] == "stay" and data["title"] == "Coins"
    assert "ended: steps 3" in data["facts"]


def test_a_page_can_do_without_the_map(monkeypatch, tmp_path):
    traced_run(tmp_path / "run")
    words = ["--out", tmp_path / "page.html", "--no-pictures", "--first", 1]
    run(monkeypatch, "trace", tmp_path / "run", *words)
    data = data_of((tmp_path / "page.html").read_text())
    assert "frames" not in data and [one["step"] for one in data["decisions"]] == [1, 2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trace", "nowhere"], "has no trace.jsonl"),
        (["trace", "run", "--out", "page.txt"], "a page is written as .html"),
        (["trace", "run", "--first", "-1"], "--first must be at least 0"),
        (["trace", "run"], "not an episode file"),
        (["export", "run", "--out", "x", "--no-texts"], "chats are texts"),
    ],
)
def test_what_cannot_be_shown_is_refused(words, said, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    traced_run(tmp_path / "run")
    (tmp_path / "run" / "play.episode").write_bytes(b"something else")
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert said in capsys.readouterr().err


def test_a_run_is_exported(monkeypatch, tmp_path, capsys):
    polars = pytest.importorskip("polars")
    traced_run(tmp_path / "run")
    for kind in ("openai-chat", "parquet"):
        run(monkeypatch, "export", tmp_path / "run", "--format", kind, "--out", tmp_path / kind)
    assert len((tmp_path / "openai-chat").read_text().splitlines()) == 3
    assert polars.read_parquet(tmp_path / "parquet").height == 4
    said = capsys.readouterr().err
    assert "3 chats of 3 decisions" in said and "4 calls of 3 decisions" in said


@pytest.mark.slow
def test_nothing_in_a_hostile_run_is_executed_in_a_browser(tmp_path):
    browsers = pytest.importorskip("playwright.sync_api")
    tracer = tracer_of(tmp_path / "run")
    texts = [*HOSTILE, *(attack.replace("document.title='owned'", "boom()") for attack in ATTACKS)]
    for number, text in enumerate(texts):
        choice = {"action": text, "say": {"text": text, "to": 1}, "thing": text}
        told = {"thought": text, "why": text, "failure": text, "template": text}
        told |= {"rung": ("parsed", text)[number % 2], "player": text}
        note(tracer, number, [text, text], said=text, seat=number % 2, choice=choice, **told)
    # A trap that would work if any of the texts were taken as HTML, or pictures as addresses.
    drawn = MapPictures(("javascript:boom()", 'x" onerror="boom()'), ((0, 0), (1, 1)))
    page = tell_page(read_trace(tmp_path / "run"), title=HOSTILE[0], facts=HOSTILE, drawn=drawn)
    (tmp_path / "page.html").write_text(page.html(), "utf-8")
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    switches += ["--disable-component-update", "--no-first-run"]
    wrong, asked, dialogs = [], [], []
    with browsers.sync_playwright() as tool:
        chromium = tool.chromium.launch(executable_path="/usr/bin/chromium", args=switches)
        tab = chromium.new_page(viewport={"width": 1280, "height": 800})
        tab.add_init_script("window.boom = () => { window.boomed = true; };")
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda line: wrong.append(line.text))
        tab.on("request", lambda one: asked.append(one.url))
        tab.on("dialog", lambda one: dialogs.append(one) or one.dismiss())
        tab.goto((tmp_path / "page.html").as_uri())
        for _ in texts:
            for seat in "12":
                tab.keyboard.press(seat)
                tab.evaluate("document.querySelectorAll('details').forEach((x) => x.open = true)")
                tab.wait_for_timeout(20)
            tab.keyboard.press("ArrowRight")
        shown = tab.inner_text("body")
        made = tab.evaluate("[...document.querySelectorAll('*')].map((x) => x.localName)")
        attributes = tab.evaluate(
            "[...document.querySelectorAll('*')].flatMap((x) => x.getAttributeNames())"
        )
        boomed = tab.evaluate("window.boomed === true || document.title.includes('owned')")
        # The policy itself: even a script that got into the page would not run.
        tab.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), "
            "{textContent: 'boom()'}))"
        )
        stopped = not tab.evaluate("window.boomed === true")
        chromium.close()
    assert not boomed and stopped and not dialogs
    assert len(asked) == 1 and asked[0].startswith("file://")
    assert made.count("script") == 2 and not {"iframe", "a", "form", "object"} & {*made}
    assert not [name for name in attributes if name.startswith("on") or name == "href"]
    assert HOSTILE[0] in shown and texts[-1] in shown
    assert [line for line in wrong if "Content Security Policy" not in line] == []
