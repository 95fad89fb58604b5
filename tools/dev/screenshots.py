#!/usr/bin/env python3
"""Takes the pictures of docs/images: pages of a run and of a study, as Chromium shows them.

The study is one of tests/support/study_folder.py, whose figures are made up.  Pictures have a
palette of 256 colours, which is what keeps them small.

usage: screenshots.py DFSEARCH [FOLDER]
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import browser  # noqa: E402
import study_folder  # noqa: E402

# name, page, width, height, dark, what is done before.
PICTURES = [
    ("run_light", "run.html", 1100, 1180, False, ""),
    ("run_dark", "run.html", 1100, 1180, True, ""),
    ("run_phone", "run.html", 400, 860, True, ""),
    ("study", "study.html", 1100, 1500, False, ""),
]


def unfiltered(data, width, height):
    """The pixels of a PNG of RGB or RGBA with 8 bits, as rows of bytes; and bytes of a pixel."""
    parts, at = [], 8
    depth = None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            depth = {2: 3, 6: 4}[body[9]]
        if kind == b"IDAT":
            parts.append(body)
        at += 12 + size
    raw = zlib.decompress(b"".join(parts))
    line, rows, above = width * depth, [], bytearray(width * depth)
    for y in range(height):
        start = y * (line + 1)
        row = bytearray(raw[start + 1:start + 1 + line])
        undo(raw[start], row, above, depth)
        rows.append(row)
        above = row
    return rows, depth


def undo(filter_type, row, above, depth):
    """The filters of PNG: 1 left, 2 above, 3 their mean, 4 Paeth."""
    if filter_type == 2:
        row[:] = bytes((a + b) & 255 for a, b in zip(row, above))
        return
    if filter_type == 0:
        return
    for i in range(len(row)):
        left = row[i - depth] if i >= depth else 0
        corner = above[i - depth] if i >= depth else 0
        if filter_type == 1:
            guess = left
        elif filter_type == 3:
            guess = (left + above[i]) // 2
        else:
            aim = left + above[i] - corner
            guess = min((left, above[i], corner), key=lambda value: abs(aim - value))
        row[i] = (row[i] + guess) & 255


def small(data):
    """The same picture with at most 256 colours, those that most pixels have."""
    width, height = struct.unpack(">II", data[16:24])
    rows, depth = unfiltered(data, width, height)
    pixels = [[bytes(row[i:i + 3]) for i in range(0, len(row), depth)] for row in rows]
    counts = {}
    for row in pixels:
        for pixel in row:
            counts[pixel] = counts.get(pixel, 0) + 1
    palette = sorted(counts, key=lambda pixel: (-counts[pixel], pixel))[:256]
    place = {pixel: i for i, pixel in enumerate(palette)}
    for pixel in counts:
        if pixel not in place:
            place[pixel] = min(range(len(palette)), key=lambda i: sum(
                (a - b) ** 2 for a, b in zip(pixel, palette[i])))
    packed = b"".join(b"\0" + bytes(place[pixel] for pixel in row) for row in pixels)

    def chunk(kind, body):
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"PLTE", b"".join(palette)),
              (b"IDAT", zlib.compress(packed, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    target = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else ROOT / "docs/images").resolve()
    target.mkdir(exist_ok=True)
    if browser.find() is None:
        sys.exit("screenshots.py: chromium is not installed")
    with tempfile.TemporaryDirectory() as name, browser.Browser() as chromium:
        folder = pathlib.Path(name)
        run = [program, "configs/gpt3_1t.yaml", "--threads", "1", "--html", folder / "run.html"]
        subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        study_folder.write(folder / "study")
        report = [program, "report", folder / "study", "-o", folder / "study.html"]
        subprocess.run(report, check=True)
        for picture, page, width, height, dark, script in PICTURES:
            chromium.open(folder / page, width=width, height=height, dark=dark, phone=width < 500)
            if script:
                chromium.run(script)
            file = target / f"{picture}.png"
            file.write_bytes(small(chromium.picture(whole=False)))
            print(f"{file.relative_to(target.parent)}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
