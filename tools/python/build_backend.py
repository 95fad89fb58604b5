"""What pip asks of a project (PEP 517): a wheel, made by CMake and tools/dev/make_wheel.py.

Nothing is downloaded: the compiler and the libraries are those of the distribution (`./dev setup`).
`--config-settings build=DIR` takes a build that is there in place of build/wheel.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))
import make_wheel  # noqa: E402


def get_requires_for_build_wheel(config_settings: dict | None = None) -> list[str]:
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str,
                                     config_settings: dict | None = None) -> str:
    folder = f"dfsearch-{make_wheel.version()}.dist-info"
    info = pathlib.Path(metadata_directory, folder)
    info.mkdir(parents=True)
    (info / "METADATA").write_text(make_wheel.metadata(), encoding="utf-8")
    return folder


def build_wheel(wheel_directory: str, config_settings: dict | None = None,
                metadata_directory: str | None = None) -> str:
    given = (config_settings or {}).get("build")
    build = pathlib.Path(given or ROOT / "build" / "wheel").resolve()
    if not given:
        # A build of its own, since the interpreter may be one of an environment that goes away.
        for words in (["--preset", "release", "-B", build, "-DDFSEARCH_BUILD_TESTS=OFF",
                       f"-DPython3_EXECUTABLE={sys.executable}"],
                      ["--build", build, "--target", "dfsearch_python"]):
            subprocess.run(["cmake", *words], cwd=ROOT, check=True)
    return make_wheel.make(build, pathlib.Path(wheel_directory))


def build_sdist(sdist_directory: str, config_settings: dict | None = None) -> str:
    raise NotImplementedError("the sources are those of the repository: pip install DIR")
