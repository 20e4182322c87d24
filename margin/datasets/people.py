"""A generated table of people, for demonstrations and tests. None of them exists."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.attribute import Attribute
from ..domain.domain import Domain
from ..errors import DomainError

__all__ = ["people", "people_domain"]

_CATEGORIES: dict[str, tuple[str, ...]] = {
    "sex": ("female", "male"),
    "region": ("capital", "coast", "delta", "hills", "islands", "lakes", "plains", "valley"),
    "education": ("basic", "secondary", "vocational", "bachelor", "master or more"),
    "employment": ("employed", "self-employed", "unemployed", "student", "retired"),
    "occupation": (
        "none",
        "manual",
        "craft",
        "service",
        "sales",
        "office",
        "technical",
        "professional",
        "management",
    ),
    "household": ("alone", "couple", "couple with children", "single parent", "shared"),
    "income": ("under 10k", "10k to 20k", "20k to 35k", "35k to 50k", "50k to 80k", "over 80k"),
    "health": ("poor", "fair", "good", "very good"),
    "smoker": ("no", "yes"),
    "commute": ("none", "on foot or by cycle", "bus", "train", "car"),
}
_NOT_STATED = "not stated"

# Weights of the categories of a column. A row belongs to one category of the column that it depends
# on. The rows of ages are: under 20, 20 to 24, 25 to 44, 45 to 64, 65 and over.
_EDUCATION_BY_AGE = np.array(
    [
        [70, 30, 0, 0, 0],
        [12, 48, 20, 20, 0],
        [10, 22, 28, 26, 14],
        [18, 27, 32, 15, 8],
        [34, 28, 27, 7, 4],
    ]
)
_EMPLOYMENT_BY_AGE = np.array(
    [[12, 1, 6, 81, 0], [50, 3, 9, 38, 0], [76, 11, 8, 5, 0], [68, 16, 7, 0, 9], [7, 4, 0, 0, 89]]
)
_OCCUPATION_BY_EDUCATION = np.array(
    [
        [0, 38, 17, 28, 11, 4, 1, 0, 1],
        [0, 20, 18, 23, 18, 14, 4, 1, 2],
        [0, 9, 33, 15, 9, 12, 16, 2, 4],
        [0, 1, 3, 6, 10, 20, 20, 28, 12],
        [0, 0, 1, 2, 4, 8, 16, 46, 23],
    ]
)
_REGIONS = np.array([24, 17, 9, 7, 3, 11, 15, 14])
_COMMUTE_BY_REGION = np.array(
    [
        [0, 24, 24, 40, 12],
        [0, 16, 20, 18, 46],
        [0, 12, 22, 8, 58],
        [0, 8, 12, 4, 76],
        [0, 40, 26, 0, 34],
        [0, 14, 18, 12, 56],
        [0, 9, 10, 11, 70],
        [0, 13, 15, 20, 52],
    ]
)
_HOUSEHOLD_BY_AGE = np.array(
    [
        [2, 1, 58, 21, 18],
        [22, 20, 10, 7, 41],
        [17, 20, 44, 8, 11],
        [21, 40, 30, 6, 3],
        [38, 55, 3, 1, 3],
    ]
)
_CHILDREN_BY_HOUSEHOLD = np.array(
    [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 40, 42, 14, 4], [0, 60, 29, 9, 2], [88, 7, 4, 1, 0]]
)
_PAY_BY_OCCUPATION = np.array([0, 2.0, 2.4, 1.8, 2.1, 2.5, 3.1, 3.7, 4.3])
_PAY_WITHOUT_WORK_BY_EMPLOYMENT = np.array([0, 0, 0.3, 0.0, 1.3])


def people(rows: int = 20_000, seed: int = 0) -> Any:
    """Generate a table of people who do not exist, as a `pyarrow.Table`. Its 12 columns depend on
    each other, and only `income` contains nulls.

    Parameters
    ----------
    rows
        The number of people.
    seed
        The seed of the generator. The same `rows` and `seed` give the same table.

    Raises
    ------
    DomainError
        When `rows` is negative.

    Examples
    --------
    >>> table = people(100)
    >>> table.num_rows, table.num_columns
    (100, 12)
    """
    import pyarrow as pa

    if rows < 0:
        raise DomainError(f"rows ({rows}) must be a whole number >= 0; pass such a number")
    generator = np.random.default_rng(seed)
    age = 16 + (generator.beta(1.5, 2.0, rows) * 79).astype(np.int64)
    stage = np.searchsorted([20, 25, 45, 65], age, side="right")
    codes = _where_they_live_and_work(generator, stage)
    may_have_children = (age >= 20) & (age < 65)
    children = _pick(generator, _CHILDREN_BY_HOUSEHOLD[codes["household"]]) * may_have_children
    income, is_stated = _income(generator, codes, age)
    # People of more education smoke less, men smoke more, and people over 65 smoke less.
    smoking = -0.9 - 0.35 * codes["education"] + 0.3 * codes["sex"] - 0.5 * (stage == 4)
    smoker = _chance(generator, smoking)
    # Health falls with age and with smoking, and rises with income.
    vigour = 3.4 - 0.032 * (age - 16) + 0.18 * income - 0.5 * smoker
    vigour = vigour + generator.normal(0, 0.8, rows)
    codes["income"] = income
    codes["smoker"] = smoker
    codes["health"] = np.clip(np.floor(vigour), 0, 3).astype(np.int64)
    columns: dict[str, Any] = {"age": age, "children": children}
    for name, labels in _CATEGORIES.items():
        columns[name] = np.array(labels, object)[codes[name]]
    columns["income"][~is_stated] = None
    types = {"age": pa.int64(), "children": pa.int64()}
    arrays = {}
    for name in people_domain():
        arrays[name] = pa.array(columns[name], types.get(name, pa.string()))
    return pa.table(arrays)


def people_domain() -> Domain:
    """The domain of `people`: age in eight bins, 0 to 4 children, and the categories of the other
    columns."""
    listed = {name: Attribute(values=labels) for name, labels in _CATEGORIES.items()}
    return Domain(
        {
            "age": Attribute(bins=[16, 20, 25, 35, 45, 55, 65, 75, 95]),
            "sex": listed["sex"],
            "region": listed["region"],
            "education": listed["education"],
            "employment": listed["employment"],
            "occupation": listed["occupation"],
            "household": listed["household"],
            "children": Attribute(size=5),
            "income": Attribute(
                values=_CATEGORIES["income"],
                missing=_NOT_STATED,
            ),
            "health": listed["health"],
            "smoker": listed["smoker"],
            "commute": listed["commute"],
        }
    )


def _where_they_live_and_work(
    generator: np.random.Generator, stage: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Draw the codes of sex, region, education, employment, occupation, household and commute.

    `stage` is each person's stage of life: the position of the age in the weights above.
    """
    rows = len(stage)
    sex = generator.integers(0, 2, rows)
    region = _pick(generator, np.broadcast_to(_REGIONS, (rows, len(_REGIONS))))
    # People in the capital have more education.
    is_urban = (region == 0)[:, None]
    schooling = np.where(is_urban, [0.7, 0.9, 0.8, 1.5, 2.0], 1)
    education = _pick(generator, _EDUCATION_BY_AGE[stage] * schooling)
    # People of basic education are more often unemployed.
    is_unschooled = (education == 0)[:, None]
    chances = np.where(is_unschooled, [0.8, 0.8, 2.0, 1.0, 1.0], 1)
    employment = _pick(generator, _EMPLOYMENT_BY_AGE[stage] * chances)
    # Women and men choose different occupations. People without work have none.
    of_women = [1, 0.5, 0.4, 1.6, 1.1, 1.7, 0.8, 1.2, 0.8]
    of_men = [1, 1.5, 1.6, 0.6, 0.9, 0.5, 1.2, 0.9, 1.2]
    leaning = np.where(sex[:, None] == 0, of_women, of_men)
    works = employment < 2
    occupation = _pick(generator, _OCCUPATION_BY_EDUCATION[education] * leaning) * works
    household = _pick(generator, _HOUSEHOLD_BY_AGE[stage])
    # Most people who work commute, office workers less often. All students do, rarely by car.
    is_student = employment == 3
    goes_out = generator.random(rows) < np.where(occupation >= 5, 0.84, 0.96)
    travels = works & goes_out | is_student
    means = np.where(is_student[:, None], [1, 2.0, 2.0, 1.3, 0.2], 1)
    commute = _pick(generator, _COMMUTE_BY_REGION[region] * means) * travels
    return {
        "sex": sex,
        "region": region,
        "education": education,
        "employment": employment,
        "occupation": occupation,
        "household": household,
        "commute": commute,
    }


def _income(
    generator: np.random.Generator,
    codes: dict[str, NDArray[np.int64]],
    age: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draw the code of each income, and whether it is stated. The self-employed and people of the
    highest income state theirs least often."""
    experience = np.clip(age - 20, 0, 35) / 35
    education = codes["education"]
    pay = _PAY_BY_OCCUPATION[codes["occupation"]] + 0.9 * experience + 0.22 * (education - 2)
    pay += 0.25 * codes["sex"] + 0.3 * (codes["region"] == 0) - 0.6 * (codes["employment"] == 1)
    pension = _PAY_WITHOUT_WORK_BY_EMPLOYMENT[codes["employment"]] + 0.35 * education
    level = np.where(codes["occupation"] > 0, pay, pension) + generator.normal(0, 0.7, len(age))
    income = np.clip(np.floor(level), 0, 5).astype(np.int64)
    is_silent = _chance(generator, -3.2 + 0.9 * (codes["employment"] == 1) + 0.7 * (income == 5))
    return income, is_silent == 0


def _pick(generator: np.random.Generator, weights: NDArray[Any]) -> NDArray[np.int64]:
    """Draw a random category for each row, with probabilities in proportion to the weights: shape
    (rows,). `weights` has shape (rows, categories)."""
    cumulative = np.cumsum(
        weights,
        axis=1,
        dtype=np.float64,
    )
    marks = generator.random(len(weights)) * cumulative[:, -1]
    picked: NDArray[np.int64] = (cumulative <= marks[:, None]).sum(axis=1)
    return picked


def _chance(generator: np.random.Generator, logit: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw a one with the probability whose logit is given, otherwise a zero: shape (rows,)."""
    probability = 1 / (1 + np.exp(-logit))
    return (generator.random(len(logit)) < probability).astype(np.int64)
