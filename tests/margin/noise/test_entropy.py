"""The two sources of bytes: what each promises, and that nothing turns one into the other."""

import inspect
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import margin
from margin.data.opening import open_source
from margin.errors import MarginError
from margin.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    discrete_gaussian,
    discrete_laplace,
    entropy,
)
from margin.noise.entropy import Entropy, SeededEntropy, SystemEntropy


def test_only_the_system_is_private():
    sources: list[Entropy] = [SystemEntropy(), SeededEntropy(1)]
    assert [source.private for source in sources] == [True, False]


@pytest.mark.parametrize("source", [SystemEntropy(), SeededEntropy(1)])
def test_private_cannot_be_assigned(source):
    with pytest.raises(AttributeError):
        source.private = not source.private
    with pytest.raises(AttributeError):
        source.other = 1


@pytest.mark.parametrize("n", [0, 1, 7, 10_000])
def test_as_many_bytes_as_asked(n):
    assert len(SystemEntropy().take(n)) == len(SeededEntropy(0).take(n)) == n


@pytest.mark.parametrize("source", [SystemEntropy(), SeededEntropy(1)])
def test_no_negative_requests(source):
    with pytest.raises(ValueError, match=r"negative|zero bytes or more"):
        source.take(-1)


def test_a_seed_determines_the_bytes():
    requests = [5, 0, 1, 1000, 5]
    first, second, other = SeededEntropy(7), SeededEntropy(7), SeededEntropy(8)
    taken = [first.take(n) for n in requests]
    assert taken == [second.take(n) for n in requests]
    assert taken[0] != taken[-1]
    assert taken[3] != [other.take(n) for n in requests][3]


def test_the_bytes_of_a_seed_never_change():
    source = SeededEntropy(2026)
    assert source.take(8).hex() == "4925e41e4cf75703"
    assert source.take(8).hex() == "23a60b05d5677805"


def test_every_whole_number_is_a_seed_of_its_own():
    seeds = [0, 1, -1, 16, 10**40, np.int64(12), np.uint8(10)]
    assert len({SeededEntropy(seed).take(16) for seed in seeds}) == len(seeds)
    assert SeededEntropy(np.int64(1)).take(9) == SeededEntropy(1).take(9)


@pytest.mark.parametrize("seed", [None, True, 1.0, "1", b"1", float("nan")])
def test_other_seeds_are_refused(seed):
    with pytest.raises(MarginError, match="seed must be a whole number"):
        SeededEntropy(seed)


def test_global_seeds_change_nothing():
    random.seed(1)
    np.random.seed(1)
    system, seeded = SystemEntropy().take(16), SeededEntropy(3).take(16)
    random.seed(1)
    np.random.seed(1)
    assert SystemEntropy().take(16) != system
    assert SeededEntropy(3).take(16) == seeded


def test_the_hash_seed_changes_nothing():
    script = (
        "from margin.noise.entropy import *; "
        "print(SeededEntropy(3).take(16).hex(), SystemEntropy().take(16).hex())"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0] == SeededEntropy(3).take(16).hex()
    assert runs[0][1] != runs[1][1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_does_not_repeat_bytes():
    source = SystemEntropy()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, source.take(16))
        os._exit(0)
    mine = source.take(16)
    os.waitpid(child, 0)
    assert os.read(reading, 16) != mine
    os.close(reading)
    os.close(writing)


def test_the_environment_is_not_consulted():
    assert "os.environ" not in inspect.getsource(entropy)
    assert "getenv" not in inspect.getsource(entropy)


DRAWS = {
    "laplace": lambda entropy: DiscreteLaplace(2).sample(3, entropy),
    "gaussian": lambda entropy: DiscreteGaussian(2).sample(3, entropy),
    "discrete_laplace": lambda entropy: discrete_laplace("2", (2, 3), entropy),
    "discrete_gaussian": lambda entropy: discrete_gaussian("2", 3, entropy),
    "draw": lambda entropy: ExponentialMechanism(1).draw([0, 1], 1, entropy),
    "draw_distinct": lambda entropy: ExponentialMechanism(1).draw_distinct([0, 1], 1, entropy),
    "private": lambda entropy: margin.Private(
        open_source({"a": [0, 1]}),
        domain=margin.Domain({"a": 2}),
        budget=margin.PureDP(1),
        entropy=entropy,
    ),
}
"""Everything public that takes a source."""


@pytest.mark.parametrize("entropy", [np.random.default_rng(1), np.zeros(3), SystemEntropy, None, 1])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_only_sources_of_bytes_are_drawn_from(draw, entropy):
    with pytest.raises(MarginError, match=r"must be a source of random bytes.*; pass System"):
        draw(entropy)
