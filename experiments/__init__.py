"""Studies, one file each: ``python -m experiments list``, ``run NAME... [--smoke] [--report]
[--out DIR] [--processes N]``.

They use the public names of `margin` only. Real tables come from the folder in the variable
MARGIN_DATA, or from the cache of `margin.datasets`. An experiment whose table is missing says so
and uses a generated table. Results go to results/NAME, or to DIR. A run that was interrupted
continues where it stopped.

`keep NAME...` copies the readings and the pictures of results/NAME into the repository, and `pages`
makes the pages of the documentation from them.

A study is a module of one of the folders, with a docstring and a function
`run(smoke: bool, out: Path) -> str`. It writes to `out` only and returns the text to print.
`tools.study.sweep` measures, `tools.plots` draws, and `tools.pages.page` reports which claims hold.
Modules whose names begin with "_" help the studies of their folder.
"""
