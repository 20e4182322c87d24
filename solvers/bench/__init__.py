"""A workbench for people who compare solvers: named instances, their checks and their files.

An `Instance` is a problem of a `Family` with the best objective that is known of it. Each family
says what a solver gets and returns, states its programme, and checks answers by itself.

`compare` runs solvers on instances, each in a process of its own, and judges what they return. From
its rows come profiles, tables, pictures and a page.
"""

from .engines.ended import Ended
from .families.cover import Chosen, Cover
from .families.every import FAMILIES
from .families.family import Check, Claim, Family
from .formats.files import read, write
from .formats.wcnf import Clauses
from .instance import Instance, load
from .instances import instance, instances
from .libraries.by_model import Answered, ByModel
from .libraries.executable import Executable
from .libraries.roster import ROSTER, Listed, families_of, solvers
from .libraries.tolerance import tolerance_of
from .made.covers import covering_design
from .models.model import Model
from .running.answers import load_answer, save_answer
from .running.battery import check_answers
from .running.compare import compare
from .running.reconciled import reconciled
from .running.rows import COLUMNS
from .running.rows import read as read_rows
from .running.verdict import Outcome
from .shown.claims import claimed_only
from .shown.limits import by_limits
from .shown.notes import notes
from .shown.page import page, write_page
from .shown.pictures import (
    draw_data_profile,
    draw_failures,
    draw_gaps,
    draw_performance_profile,
)
from .shown.profiles import Profile, data_profile, performance_profile
from .shown.solves import solves
from .shown.summaries import (
    agreement,
    failures,
    primal_integral,
    primal_integrals,
    shifted_geometric_means,
    summary,
)
from .shown.tables import table_of
from .shown.targets import time_to_target
from .shown.times import Times, times

__all__ = [
    "COLUMNS",
    "FAMILIES",
    "ROSTER",
    "Answered",
    "ByModel",
    "Check",
    "Chosen",
    "Claim",
    "Clauses",
    "Cover",
    "Ended",
    "Executable",
    "Family",
    "Instance",
    "Listed",
    "Model",
    "Outcome",
    "Profile",
    "Times",
    "agreement",
    "by_limits",
    "check_answers",
    "claimed_only",
    "compare",
    "covering_design",
    "data_profile",
    "draw_data_profile",
    "draw_failures",
    "draw_gaps",
    "draw_performance_profile",
    "failures",
    "families_of",
    "instance",
    "instances",
    "load",
    "load_answer",
    "notes",
    "page",
    "performance_profile",
    "primal_integral",
    "primal_integrals",
    "read",
    "read_rows",
    "reconciled",
    "save_answer",
    "shifted_geometric_means",
    "solvers",
    "solves",
    "summary",
    "table_of",
    "time_to_target",
    "times",
    "tolerance_of",
    "write",
    "write_page",
]
