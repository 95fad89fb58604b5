#!/usr/bin/env python3
"""A wheel of the package dfsearch, from a build: pip install it where no Debian package fits.

The wheel needs the shared libraries that the build was linked with (TBB, yaml-cpp, fmt), so it is
for machines like this one. The same build gives the same bytes.

usage: make_wheel.py BUILD FOLDER, where BUILD has python/dfsearch; prints the name of the wheel.
tools/python/build_backend.py makes the same for pip.
"""

import base64
import hashlib
import pathlib
import re
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
METADATA = """\
Metadata-Version: 2.1
Name: dfsearch
Version: {version}
Summary: Exact search for the best mapping of a workload onto many chips
License: {license}
Requires-Python: >=3.8
Provides-Extra: onnx
Requires-Dist: onnx; extra == "onnx"
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: dfsearch
Root-Is-Purelib: false
Tag: {tag}
"""


def tag(extension):
    """The tag of the interpreter that the extension was compiled for."""
    found = re.search(r"\.cpython-(\d+)", extension.name)
    if found is None:
        raise SystemExit(f"make_wheel: {extension}: expected the module of a CPython")
    python = f"cp{found[1]}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def version():
    project = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(dfsearch VERSION ([\d.]+)", project)[1]


def metadata():
    license_name = (ROOT / "LICENSE").read_text().split("\n", 1)[0].strip()
    return METADATA.format(version=version(), license=license_name)


def make(build, folder):
    """Writes the wheel and returns its name."""
    package = build / "python" / "dfsearch"
    extension, = package.glob("_dfsearch*.so")
    info = f"dfsearch-{version()}.dist-info"
    files = {f"dfsearch/{file.name}": file.read_bytes() for file in sorted(package.iterdir())
             if file.suffix in (".py", ".pyi", ".so", ".typed")}
    files |= {f"{info}/METADATA": metadata().encode(),
              f"{info}/WHEEL": WHEEL.format(tag=tag(extension)).encode(),
              f"{info}/LICENSE": (ROOT / "LICENSE").read_bytes()}
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"dfsearch-{version()}-{tag(extension)}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            archive.writestr(entry, data)
    return wheel.name


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
