"""Throw-away virtual environments, one for each version of PySpark, under `.sandbox/recording/environments`.

Each takes about 700 MB; they are kept, so that a second recording begins at once. `rm -rf .sandbox/recording` ends that.
"""

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
ENVIRONMENTS = PROJECT / ".sandbox" / "recording" / "environments"
PACKAGES = ("pandas==2.3.3", "pyarrow==21.0.0", "protobuf==6.33.5")
"""What `transformWithStateInPandas` needs, protobuf not older than what 4.2.0 was made with; fixed, so that a recording can
be made again."""

_UV = PROJECT / ".tools" / "bin" / "uv"
_PIP = (str(PROJECT / ".tools" / "bin" / "python"), "-m", "pip")


def python_of(version: str) -> Path:
    """The interpreter of a version's environment, made where it is missing: a minute and a download of 450 MB."""
    folder = ENVIRONMENTS / version
    stamp, packages = folder / ".packages", [f"pyspark=={version}", *PACKAGES]
    if not stamp.exists() or stamp.read_text().split() != packages:
        stamp.unlink(missing_ok=True)
        print(f"{version}: making an environment with PySpark (about a minute)", file=sys.stderr, flush=True)
        _uv("venv", "--clear", "--no-python-downloads", "--python", sys.executable, str(folder))
        _uv("pip", "install", "--python", str(folder / "bin" / "python"), *packages)
        stamp.write_text("\n".join(packages))
    return folder / "bin" / "python"


def _uv(*arguments: str) -> None:
    # PySpark alone is 450 MB; uv gives up after 30 s by default.
    environment = {"UV_HTTP_TIMEOUT": "300", **os.environ}
    if not environment.keys() & {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} and (index := _index_of_pip()):
        environment["UV_DEFAULT_INDEX"] = index
    if "PIP_CERT" in environment:
        environment.setdefault("SSL_CERT_FILE", environment["PIP_CERT"])
    subprocess.run([str(_UV), *arguments, "--quiet"], check=True, env=environment)


def _index_of_pip() -> str:
    """uv does not read pip's settings; `config/setup.sh` hands them on in the same way."""
    told = subprocess.run([*_PIP, "config", "get", "global.index-url"], capture_output=True, text=True, check=False)
    return os.environ.get("PIP_INDEX_URL", "") or told.stdout.strip()
