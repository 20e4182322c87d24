"""Synthetic records of AIM and MST on mbi 2.0: `model.synthetic_data`, as its authors make them.

Option: `algorithm`, "aim" or "mst"; all others are those of that script. Writes `records.npy`.
"""

import sys
import time
from pathlib import Path

import aim
import mst
import numpy as np
from task import Task, stop_after


def main() -> None:
    """Release the table of the folder given on the command line, and make as many records."""
    task = Task.read(Path(sys.argv[1]))
    stop_after(task.limit)
    started = time.process_time()
    release = {"aim": aim.release, "mst": mst.release}[task.options["algorithm"]]
    answer = release(task)
    task.note(release=time.process_time() - started)
    records = answer.__self__.records(len(task.rows))
    np.save(task.folder / "records.npy", records)
    task.note(seconds=time.process_time() - started)


if __name__ == "__main__":
    main()
