"""The image tooling is imported as `images.imaging`, from the root of the repository."""

import sys
from pathlib import Path

# Last, so that no folder of the root hides an installed module.
sys.path.append(str(Path(__file__).resolve().parents[3]))
