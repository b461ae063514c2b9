"""Print how pyproject.toml pins a package of the extra "test": ``python .github/requirement.py ruff``."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
(requirement,) = [line for line in project["optional-dependencies"]["test"] if line.startswith(f"{sys.argv[1]}==")]
print(requirement)
