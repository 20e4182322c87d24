import sys
from pathlib import Path

# The experiments are not part of the package. At the end of the path: `margin` itself is the
# installed one.
sys.path.append(str(Path(__file__).parents[2]))
