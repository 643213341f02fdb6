"""Screenshots for the README: a report and what ``auctor train`` prints, from a real run.

``python docs/screenshots.py`` needs a Chromium and the extras ``cli`` and ``docs``. It trains on
the tumours that come with scikit-learn, in a temporary folder, and writes small PNG files to
``docs/img``.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent / "img"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
#: Most bytes of an image.
LIMIT = 150_000
COMMAND = (
    "auctor train tumours.csv --label diagnosis --metric 'cost(10)' --calibrate sigmoid "
    "--report tumours.html"
)


def main() -> None:
    """Train, then take the pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("screenshots.py needs Chromium; got none. Install it and run this again.")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tumours(folder / "tumours.csv")
        printed = train(folder)
        shoot(browser, folder, folder / "tumours.html", "report.png", 1200, 1500)
        shoot(browser, folder, folder / "tumours.html", "report-phone.png", 420, 900, dark=True)
        drawn, height = draw_terminal(printed, folder)
        shoot(browser, folder, drawn, "train.png", 900, height)


def write_tumours(path: Path) -> None:
    """The breast tumours of scikit-learn: the ten mean measurements, and the diagnosis as text."""
    import polars as pl
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    table = pl.DataFrame(found.data[:, :10], schema=list(found.feature_names[:10]))
    said = [str(found.target_names[k]) for k in found.target]
    table.with_columns(diagnosis=pl.Series(said)).write_csv(path)


def train(folder: Path) -> str:
    """What the command prints, with its colours."""
    environment = {**os.environ, "COLUMNS": "100", "FORCE_COLOR": "1"}
    words = [sys.executable, "-m", "auctor", *shlex.split(COMMAND)[1:]]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"screenshots.py needs auctor train to work; got: {done.stderr}")
    return done.stdout


def draw_terminal(printed: str, folder: Path) -> tuple[Path, int]:
    """A page with a drawing of a terminal, and its height."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ " + COMMAND, style="bold"))
    console.print(Text.from_ansi(printed))
    drawing = console.export_svg(title="auctor train")
    # Its fonts are on a server: those of the machine will do.
    drawing = re.sub(r"@font-face \{.*?\}", "", drawing, flags=re.DOTALL)
    drawing = drawing.replace("Fira Code", "DejaVu Sans Mono")
    page = folder / "terminal.html"
    page.write_text(f"<style>body{{margin:0}}svg{{width:900px}}</style>{drawing}", encoding="utf-8")
    width, height = map(float, drawing.split('viewBox="0 0 ')[1].split('"')[0].split())
    return page, round(900 * height / width)


def shoot(
    browser: str,
    folder: Path,
    page: Path,
    name: str,
    width: int,
    height: int,
    *,
    dark: bool = False,
) -> None:
    """Take one picture, in few colours so that it is small."""
    raw = folder / name
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    words = [
        browser,
        *FLAGS,
        *scheme,
        f"--user-data-dir={folder / 'browser'}",
        f"--window-size={width},{height}",
        f"--screenshot={raw}",
        page.as_uri(),
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    image = Image.open(raw).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    image.save(IMAGES / name, optimize=True)
    size = (IMAGES / name).stat().st_size
    if size > LIMIT:
        sys.exit(f"screenshots.py needs {name} below {LIMIT} bytes; got {size}. Make it smaller.")
    print(f"{name}: {image.width} x {image.height}, {size:,} bytes")


if __name__ == "__main__":
    main()
