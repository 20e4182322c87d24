"""Studies, one file each: ``python -m experiments list``, ``run NAME... [--smoke] [--out DIR]
[--processes N]``.

They use the public names of `margin` only. Real tables are taken from the folder that the variable
MARGIN_DATA names, or from the cache of `margin.datasets`; an experiment that needs one and does not
find it says so and uses a generated table. Results go to results/NAME, or to DIR; a run that was
broken off goes on where it stopped.

A study is a module with a docstring and `run(smoke: bool, out: Path) -> str`: it writes to `out`
only and returns what is to be shown. `_study.sweep` measures cell by cell, `_plots` draws,
`_pages.page` says what holds.
"""
