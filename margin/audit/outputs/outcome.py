"""`outcome`: everything that leaves a run, by any way, so that two runs can be compared.

The outcome contains the object that is returned or raised, with everything that can be reached from
it; what is written to the standard streams, also by C code; warnings; the records of all loggers at
all levels; files that are written, also by C code if they are in the working folder or among the
temporary files, which are the run's own; the environment, the working folder and settings of the
process; programs that are started; the course of the run, which a release states; the state of the
mechanism itself, of its classes and of the variables of their modules.

It does not contain what C code or another library keeps to itself, such as a cache, the state of a
random generator, shared memory, or a file that C code writes elsewhere. The library's own clock
stands still during a run: the seconds that a synopsis reports are all zero, and are not compared.
"""

import contextlib
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from ...errors import MarginError
from ...synopses.rounds import stopped_clock
from ..violation import Violation, other_error
from .digest import Digest, combined, difference, digest_of
from .process_state import state_around, watched_environment
from .watched_files import watched_files
from .watched_streams import watched_logs, watched_streams, watched_warnings

__all__ = ["Outcome", "outcome", "outcome_of"]

# What Python warns of a socket to the loopback address that was not closed.
_LOCAL_SOCKET = re.compile(
    r"unclosed <socket\.socket [^>]*raddr=\('(127\.0\.0\.1|::1)', \d+[^>]*>$",
)


@dataclass(
    frozen=True,
    eq=False,
)
class Outcome:
    """Everything that leaves a run. Two outcomes are equal if nothing distinguishes them.

    Attributes
    ----------
    digest
        The digest of everything.
    """

    digest: Digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and self.digest.hash == other.digest.hash

    __hash__ = None  # type: ignore[assignment]

    def differs(self, other: "Outcome") -> str:
        """The place of the first difference to another outcome; empty if they are equal."""
        return difference(self.digest, other.digest)


def outcome(
    mechanism: Any,
    private: Any,
    workload: Any,
) -> Outcome:
    """The outcome of one run of a mechanism; see `outcome_of`."""
    return outcome_of(
        lambda: mechanism.run(private, workload),
        beside=mechanism,
        course=lambda: private.course,
    )


def outcome_of(
    action: Callable[[], object],
    *,
    beside: object = None,
    course: Callable[[], object] | None = None,
) -> Outcome:
    """Everything that leaves an action, and what the object `beside` holds afterwards.

    `course` gives the course of a run, which a release states.

    Raises
    ------
    Violation
        If the action raises an error that is not a MarginError, as such an error may contain
        anything; if it opens a connection; or if it lets out an object that cannot be looked into.
    """
    with _watched() as found:
        result = _result(action)
        # The result is examined inside the context, so that side effects of this are recorded too.
        found["result"] = digest_of(result, traces=result[0] == "returned")
    found["mechanism"] = digest_of(beside)
    if course is not None:
        found["course"] = digest_of(course())
    found["around"] = combined(state_around(beside))
    digests = {
        name: part if isinstance(part, Digest) else digest_of(part, traces=False)
        for name, part in found.items()
    }
    return Outcome(combined(digests))


def _result(action: Callable[[], object]) -> tuple[object, ...]:
    """How an action ends, and with which object."""
    try:
        return ("returned", action())
    except MarginError as error:
        return ("raised", error)
    except SystemExit as error:
        return ("exit", error.code, error)
    except (Violation, KeyboardInterrupt):
        raise
    except Exception as error:
        raise other_error(error) from error


@contextlib.contextmanager
def _watched() -> Generator[dict[str, Any]]:
    """A record of everything that leaves except the result, filled when the context ends."""
    found: dict[str, Any] = {"result": None}
    with contextlib.ExitStack() as stack:
        found["files"] = files = stack.enter_context(watched_files())
        found["streams"] = stack.enter_context(watched_streams())
        found["warnings"] = warned = stack.enter_context(watched_warnings())
        found["logs"] = stack.enter_context(watched_logs())
        found["environment"] = stack.enter_context(watched_environment())
        stack.enter_context(stopped_clock())
        yield found
    written = {name: digest_of(content) for name, content in files.found().items()}
    found["files"] = combined(written)
    # Python collects the sockets by which pyspark fetched its results at any time, and then warns.
    # All other sockets are refused.
    found["warnings"] = [
        (kind, text)
        for kind, text in warned
        if not (kind == "ResourceWarning" and _LOCAL_SOCKET.match(text))
    ]
