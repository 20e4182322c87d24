"""The numerical libraries work with one thread inside `single_thread`."""

import ast
import subprocess
import sys


def test_one_thread_limits_the_library_of_scipy_too_if_it_is_loaded_later(tmp_path):
    code = """
from margin.solvers.threads import single_thread
with single_thread():
    import scipy.linalg, threadpoolctl
    print([library["num_threads"] for library in threadpoolctl.threadpool_info()])
"""
    # Elsewhere: in a checkout without symbolic links, only the installed package is whole.
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    threads = ast.literal_eval(done.stdout)
    assert threads and set(threads) == {1}
