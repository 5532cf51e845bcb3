"""Print the key of the environment that a pyproject.toml asks for: of what is installed, and for which Python.

Settings of tools (lint, types, tests) and the entry points of kgrag itself are no part of it: none of them changes
what is installed beside kgrag, and to build the environment anew takes minutes.
"""

import hashlib
import json
import sys
import tomllib
from pathlib import Path

declared = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
project = declared["project"]
installed = [
    list(sys.version_info[:2]),
    declared["build-system"]["requires"],
    project["dependencies"],
    project["optional-dependencies"],
]
sys.stdout.write(hashlib.sha256(json.dumps(installed, sort_keys=True).encode()).hexdigest()[:16] + "\n")
