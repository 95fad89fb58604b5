#!/usr/bin/env python3
"""Packages hold what they say and work where they are unpacked, without the tree of the sources.

usage: packages_test.py BUILD
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


def run(*words, **options):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True,
                          check=True, timeout=300, **options).stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / "made",
            "-G", "DEB", cwd=BUILD)
        cls.root = cls.folder / "root"
        cls.debs = {}
        for file in (cls.folder / "made").glob("*.deb"):
            name = run("dpkg-deb", "--field", file, "Package").strip()
            cls.debs[name] = file
            run("dpkg-deb", "--extract", file, cls.root)
        # Nothing of the tree or of this process helps.
        cls.environment = {"PATH": f"{cls.root}/usr/bin:/usr/bin:/bin", "HOME": str(cls.folder)}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_names(self):
        self.assertLessEqual({"dfsearch", "libdfsearch-dev"}, set(self.debs))

    def test_what_they_need_is_said(self):
        needs = run("dpkg-deb", "--field", self.debs["dfsearch"], "Depends")
        self.assertIn("libc6", needs)
        self.assertIn("libtbb", needs)

    @unittest.skipUnless(shutil.which("lintian"), "lintian is not installed")
    def test_the_policy_of_debian(self):
        done = subprocess.run(["lintian", "--allow-root", *self.debs.values()], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        found = [line for line in done.stdout.splitlines() if line[:2] in ("E:", "W:")]
        # The contact of a package that nobody publishes is no address.
        self.assertEqual([line for line in found if "bogus-mail-host" not in line], [])

    def test_no_file_is_in_two(self):
        seen = {}
        for name, file in self.debs.items():
            for line in run("dpkg-deb", "--contents", file).splitlines():
                path = line.split()[5]
                if path.endswith("/"):
                    continue
                self.assertNotIn(path, seen, f"{name} and {seen.get(path)}")
                seen[path] = name

    def test_the_program_finds_its_configs(self):
        text = run("dfsearch", "gpt3_1t", "--threads", "1", env=self.environment, cwd=self.folder)
        self.assertIn("78.99", text)
        self.assertTrue((self.root / "usr/share/dfsearch/configs/gpt3_1t.yaml").exists())

    def test_python(self):
        if "python3-dfsearch" not in self.debs:
            self.skipTest("pybind11 is not installed")
        package = self.root / "usr/lib/python3/dist-packages"
        text = run(sys.executable, "-c", "import dfsearch; print(dfsearch.solve('gpt3_1t')['gap'])",
                   env={**self.environment, "PYTHONPATH": str(package)}, cwd=self.folder)
        self.assertEqual(text, "0\n")

    def test_the_same_build_gives_the_same_bytes(self):
        if "python3-dfsearch" not in self.debs:
            self.skipTest("pybind11 is not installed")
        made = []
        for folder in ("first", "second"):
            run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB",
                "-D", "CPACK_COMPONENTS_ALL=python", "-B", self.folder / folder, cwd=BUILD,
                env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
            file, = (self.folder / folder).glob("*.deb")
            made.append(file.read_bytes())
        self.assertEqual(made[0], made[1])

    def test_wheel(self):
        if "python3-dfsearch" not in self.debs:
            self.skipTest("pybind11 is not installed")
        script = pathlib.Path(__file__).resolve().parents[2] / "tools/dev/make_wheel.py"
        wheels = []
        for folder in ("once", "again"):
            name = run(sys.executable, script, BUILD, self.folder / folder).strip()
            wheels.append(self.folder / folder / name)
        self.assertEqual(wheels[0].read_bytes(), wheels[1].read_bytes())
        # pip makes the same of the tree of the sources, without a network.
        tree = script.parents[2]
        run(sys.executable, "-m", "pip", "wheel", tree, "--no-build-isolation", "--no-deps",
            "--no-index", "--config-settings", f"build={BUILD}", "-w", self.folder / "pip",
            cwd=self.folder)
        made, = (self.folder / "pip").glob("*.whl")
        self.assertEqual((made.name, made.read_bytes()), (wheels[0].name, wheels[0].read_bytes()))
        place = self.folder / "installed"
        run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target", place,
            wheels[0])
        text = run(sys.executable, "-c", "import dfsearch; print(dfsearch.solve('gpt3_1t')['gap'])",
                   env={**self.environment, "PYTHONPATH": str(place)}, cwd=self.folder)
        self.assertEqual(text, "0\n")

    def test_all_is_there(self):
        for name in ("bin/dfsearch", "include/dfsearch/dfsearch.hpp",
                     "share/doc/dfsearch/README.md", "share/doc/dfsearch/docs/python.md",
                     "share/man/man1/dfsearch.1.gz", "share/bash-completion/completions/dfsearch"):
            self.assertTrue((self.root / "usr" / name).exists(), name)
        for package in self.debs:
            for name in ("copyright", "changelog.gz"):
                self.assertTrue((self.root / "usr/share/doc" / package / name).exists(), package)

    def test_nothing_refers_to_the_build(self):
        for folder, _, files in os.walk(self.root):
            for name in files:
                file = pathlib.Path(folder) / name
                if file.suffix in (".cmake", ".py", ".yaml", ".hpp"):
                    self.assertNotIn(str(BUILD), file.read_text(encoding="utf-8"), file)


if __name__ == "__main__":
    unittest.main()
