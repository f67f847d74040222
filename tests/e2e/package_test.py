"""The Debian package: made, installed below a folder, used, removed."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from moulin import BINARY, SANITIZED

GLIBC_OF_DEBIAN_12 = (2, 36)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@unittest.skipUnless(shutil.which("dpkg") and (BINARY.parent / "CPackConfig.cmake").exists(), "no dpkg, or no build")
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="moulin-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        run("cpack", "-G", "DEB", "--config", BINARY.parent / "CPackConfig.cmake", "-B", cls.folder / "made")
        (cls.package,) = (cls.folder / "made").glob("*.deb")

    def setUp(self):
        self.root = self.folder / self.id()
        for part in ("info", "updates", "triggers"):
            (self.root / "var/lib/dpkg" / part).mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()

    def dpkg(self, *arguments):
        # The scripts see DPKG_ROOT and leave the services of this machine alone.
        return run("dpkg", f"--root={self.root}", f"--log={self.folder}/log", "--force-script-chrootless",
                   "--force-depends", "--force-not-root", *arguments)

    def files(self):
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*")
                      if path.is_file() and "var/lib/dpkg" not in str(path))

    def test_it_installs_works_and_goes_without_a_trace(self):
        self.dpkg("-i", self.package)
        installed = self.files()
        for file in ("usr/bin/moulin", "lib/systemd/system/moulin.service", "usr/share/doc/moulin/README.md"):
            self.assertIn(file, installed)
        self.assertRegex(run(self.root / "usr/bin/moulin", "version"), r"^moulin \d+\.\d+\.\d+\n")
        self.dpkg("-i", self.package)  # an upgrade to the same
        self.assertEqual(self.files(), installed)
        self.dpkg("-r", "moulin")
        self.assertEqual(self.files(), [])

    def test_it_keeps_the_data_also_with_purge(self):
        self.dpkg("-i", self.package)
        data = self.root / "var/lib/moulin"
        data.mkdir(parents=True)
        (data / "journal.db").write_text("everything")
        self.assertIn("/var/lib/moulin is kept", self.dpkg("-P", "moulin"))
        self.assertEqual(self.files(), ["var/lib/moulin/journal.db"])

    @unittest.skipIf(SANITIZED, "sanitizers need libraries of their own")
    def test_it_needs_nothing_but_the_glibc_that_it_names(self):
        self.assertIn("Depends: libc6 (>= 2.36)", run("dpkg-deb", "-f", self.package, "Depends", "Version"))
        symbols = run("objdump", "-T", BINARY)
        needed = max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_(\d+\.\d+)", symbols))
        self.assertLessEqual(needed, GLIBC_OF_DEBIAN_12)
        libraries = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", BINARY))
        self.assertLessEqual(set(libraries), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})


if __name__ == "__main__":
    unittest.main()
