"""Print what kgrag needs with some extras, as requirements of pip: python3 requirements.py server,mcp."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
needed, extras = [*project["dependencies"]], sys.argv[1].split(",")
for extra in filter(None, extras):  # one extra may name others: kgrag[server]
    for line in project["optional-dependencies"][extra]:
        own = re.fullmatch(r"kgrag\[(.+)\]", line)
        extras.extend(own[1].split(",")) if own else needed.append(line)
sys.stdout.write("\n".join(dict.fromkeys(needed)) + "\n")
