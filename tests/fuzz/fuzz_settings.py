"""Settings in TOML: a configuration, or ConfigError; what is read is written and read again."""

import os
import tempfile
from pathlib import Path

from evocore.config import RunConfig
from evocore.errors import ConfigError

FOLDER = Path(tempfile.mkdtemp(prefix="evocore-fuzz-"))
FILE = FOLDER / f"settings-{os.getpid()}.toml"


def check(data):
    FILE.write_bytes(data)
    try:
        config = RunConfig.from_toml(FILE)
    except ConfigError as error:
        assert 0 < len(str(error)) < 5000
        return
    FILE.write_bytes(config.to_toml().encode())
    assert RunConfig.from_toml(FILE) == config
