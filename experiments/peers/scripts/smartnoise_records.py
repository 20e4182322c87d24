"""Synthetic records of SmartNoise (smartnoise-synth), by its own synthesizers with their defaults.

Options: `synthesizer`, the name ("mst", "aim"); `epsilon` and `delta`. The table is given as codes
of declared categories, so that no budget is spent on preprocessing. Writes `records.npy`.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from snsynth import Synthesizer
from snsynth.transform import LabelTransformer
from snsynth.transform.table import TableTransformer
from task import Task, stop_after


def main() -> None:
    """Release the table of the folder given on the command line, and make as many records."""
    task = Task.read(Path(sys.argv[1]))
    stop_after(task.limit)
    frame = pd.DataFrame(task.rows, columns=list(task.attributes))
    started = time.process_time()
    made = Synthesizer.create(
        task.options["synthesizer"],
        epsilon=task.options["epsilon"],
        delta=task.options["delta"],
    )
    made.fit(frame, transformer=_declared(task), preprocessor_eps=0.0)
    task.note(release=time.process_time() - started)
    records = made.sample(len(task.rows))
    np.save(task.folder / "records.npy", records[list(task.attributes)].to_numpy(np.int64))
    task.note(seconds=time.process_time() - started)


def _declared(task: Task) -> TableTransformer:
    """Transformers that know all declared categories, whether they occur or not."""
    every = pd.DataFrame(
        {
            name: np.arange(max(task.sizes)) % size
            for name, size in zip(task.attributes, task.sizes, strict=True)
        }
    )
    transformers = []
    for name in task.attributes:
        one = LabelTransformer(nullable=False)
        one.fit(every[name])
        transformers.append(one)
    return TableTransformer(transformers)


if __name__ == "__main__":
    main()
