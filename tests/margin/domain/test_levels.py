"""Trees of levels: every way to declare one gives the same tree; wrong ones are refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin import Attribute, Domain, DomainError, FileError
from margin.domain.level_views import attribute_at, level_view
from margin.domain.levels import Levels

NAMES = ["state", "county", "tract"]
PATHS = [
    ["01", "011", "0111"],
    ["02", "021", "0211"],
    ["01", "012", "0121"],
    ["02"],
    ["01", "011", "0112"],
    ["02", "022"],
]
LEAVES = ("0111", "0112", "0121", "0211", "02", "022")


def forms(folder):
    """The same tree, declared in each way."""
    table = "".join(f"{','.join(path)}{',' * (3 - len(path))},x\n" for path in PATHS)
    (folder / "codes.csv").write_text(f"state,county,tract,note\n{table}\n")
    leaves = "".join(f"1,{path[-1]}\n" for path in PATHS)
    (folder / "leaves.csv").write_text(f"rank,tract\n{leaves}", encoding="utf-8-sig")
    codes = [path[-1] for path in PATHS]
    return {
        "paths": {"names": NAMES, "paths": PATHS},
        "prefixes": {"names": NAMES, "codes": codes, "prefixes": [2, 3]},
        "file": {"names": NAMES, "file": "codes.csv"},
        "file of codes": {"names": NAMES, "file": "leaves.csv", "prefixes": [2, 3]},
    }


@pytest.mark.parametrize("name", ["paths", "prefixes", "file", "file of codes"])
def test_every_form_declares_the_same_tree(name, tmp_path):
    (tmp_path / "domain.json").write_text(json.dumps({"p": {"levels": forms(tmp_path)[name]}}))
    domain = Domain(tmp_path / "domain.json")
    tree = domain["p"].levels
    assert tree.leaves == domain["p"].labels == LEAVES
    assert tree.sizes == (2, 5, 6)
    assert [group.tolist() for group in tree.groups] == [
        [0, 0, 0, 1, 1, 1],
        [0, 0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4, 5],
    ]
    assert tree.labels[:2] == (("01", "02"), ("011", "012", "021", "02", "022"))
    assert Domain.from_json(domain.to_json()) == domain
    assert hash(Domain.from_json(domain.to_json())) == hash(domain)
    assert repr(tree) == "Levels(state: 2 > county: 5 > tract: 6)"


def test_a_row_holds_a_leaf_and_nothing_else():
    attribute = Attribute(levels={"names": NAMES, "paths": PATHS}, missing="?")
    values = ["0112", " 022", "02", "01", "011", 111, 0, None, ""]
    # "02" and "022" are declared for rows that know no more; "01" and "011" are not.
    assert [attribute.code(value) for value in values] == [1, 5, 4, -1, -1, -1, -1, 6, 6]
    assert attribute.levels.labels[0] == ("01", "02", "?")
    assert attribute.at_level("state").code(None) == 2
    assert attribute.at_level("state").labels == ("01", "02", "?")
    other = Attribute(levels={"names": NAMES, "paths": PATHS}, other="rest", missing="rest")
    assert (other.code("01"), other.code(None), other.size) == (6, 6, 7)
    named = Attribute(levels={"names": NAMES, "paths": PATHS}, missing="022")
    assert (named.code(None), named.size) == (5, 6)
    for one in (attribute, other, named):
        assert Attribute.from_json(json.loads(json.dumps(one.to_json()))) == one


@st.composite
def trees(draw):
    """Paths of a random tree of three levels, shuffled, and the parents of each leaf."""
    paths = []
    for top in range(draw(st.integers(1, 3))):
        for middle in range(draw(st.integers(1, 3))):
            for _ in range(draw(st.integers(1, 3))):
                paths.append((f"t{top}", f"m{top}.{middle}", f"leaf {len(paths)}"))
    return draw(st.permutations(paths))


@settings(max_examples=40)
@given(trees())
def test_leaves_of_a_node_are_consecutive_and_belong_to_it(paths):
    tree = Levels.of({"names": ["top", "middle", "leaf"], "paths": paths})
    assert sorted(tree.leaves) == sorted(path[-1] for path in paths)
    parents = {path[-1]: path for path in paths}
    for level, (group, labels) in enumerate(zip(tree.groups, tree.labels, strict=True)):
        assert group[0] == 0
        assert set(np.diff(group).tolist()) <= {0, 1}
        nodes = [labels[node] for node in group.tolist()]
        assert nodes == [parents[leaf][level] for leaf in tree.leaves]
        # Nodes come in the order in which their parents' paths were declared.
        if level == 0:
            assert list(labels) == list(dict.fromkeys(path[0] for path in paths))


WRONG = {
    "levels must be a mapping": ["state"],
    "unknown key 'path' of levels; .*did you mean 'paths'": {"names": NAMES, "path": []},
    "names must list the names of at least two levels": {"names": ["a"], "paths": [["x"]]},
    "names must list .* all different": {"names": ["a", "a"], "paths": [["x"]]},
    "must not contain '@', but 'a@b' does": {"names": ["a@b", "c"], "paths": [["x"]]},
    "exactly one of paths, codes and file, but none of them": {"names": NAMES},
    "paths and file are given": {"names": NAMES, "paths": PATHS, "file": "x"},
    "codes and prefixes belong together": {"names": NAMES, "codes": ["1"]},
    "path 2 must be a list of 1 to 2 labels": {"names": NAMES[:2], "paths": [["a"], ["a"] * 3]},
    "path 1 must hold a label for each": {"names": NAMES, "paths": [["a", "", "b"]]},
    "at least one leaf": {"names": NAMES, "paths": []},
    "2 ascending numbers of characters": {"names": NAMES, "codes": ["1"], "prefixes": [2, 2]},
    "each of the codes must be a non-empty text, but one is 7": {
        "names": NAMES,
        "codes": [7],
        "prefixes": [1, 2],
    },
    "each leaf must be declared once, but 'x'": {
        "names": NAMES[:2],
        "paths": [["a", "x"], ["a", "x"]],
    },
    "of level 'county' must lie in one node of level 'state', but 'x' lies in two": {
        "names": NAMES,
        "paths": [["a", "x", "1"], ["b", "x", "2"]],
    },
    "declared values must differ, but 1 and '1.0'": {
        "names": NAMES[:2],
        "paths": [["a", 1], ["a", "1.0"]],
    },
    "file must be the path": {"names": NAMES, "file": 3},
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_declarations_are_refused(message):
    with pytest.raises(DomainError, match=message) as caught:
        Domain({"place": {"levels": WRONG[message]}})
    assert str(caught.value).startswith("attribute 'place': ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "does not exist"),
        ("", "must name each level once .*'state' 0 times"),
        ("stat,county,tract\n", "did you mean 'stat'"),
        ("state,county,tract,tract\n", "names 'tract' 2 times"),
        ("state,county,tract\na,b\n", "line 2 of .* must have 3 cells, but it has 2"),
        (b"\xff\xfe\xfa", "must be a CSV file in UTF-8"),
    ],
)
def test_wrong_files_are_refused(text, message, tmp_path):
    path = tmp_path / "codes.csv"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=message):
        Domain({"place": {"levels": {"names": NAMES, "file": path}}})


def test_a_text_reads_no_other_file(tmp_path):
    forms(tmp_path)
    form = {"p": {"levels": {"names": NAMES, "file": str(tmp_path / "codes.csv")}}}
    assert Domain(form)["p"].labels == LEAVES
    with pytest.raises(DomainError, match="attribute 'p': levels must be written out as paths"):
        Domain.from_json(json.dumps(form))


def test_a_level_is_named_like_an_attribute():
    domain = Domain({"sex": 2, "p": {"levels": {"names": NAMES, "paths": PATHS}}, "p@x": 3})
    view = level_view(domain, ["p@county", "sex", "p@x"])
    assert (view.view, view.names) == (("p", "sex", "p@x"), ("p@county", "sex", "p@x"))
    assert view.rolled.sizes == (5, 2, 3)
    assert domain.level_names == ("p@state", "p@county", "p@tract")
    assert attribute_at(domain, "p@x").size == 3
    with pytest.raises(DomainError, match="'p@state' has the same name as level 'state'"):
        Domain({**domain, "p@state": 2})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["p@count"], "attribute 'p': there is no level 'count'; .*did you mean 'county'"),
        (["sex@state"], "attribute 'sex': .*declares no levels"),
        (["q@state"], "unknown attribute 'q'"),
        (["p@state", "p"], "'p' occurs more than once; name it at its lowest level"),
        ([], "at least one attribute"),
        (3, "of type int"),
        ([3], "unknown attribute 3"),
    ],
)
def test_wrong_levels_are_refused(names, message):
    domain = Domain({"sex": 2, "p": {"levels": {"names": NAMES, "paths": PATHS}}})
    with pytest.raises(DomainError, match=message):
        level_view(domain, names)


@settings(max_examples=40)
@given(trees(), st.integers(0, 2**32 - 1))
def test_tables_are_rolled_up_by_the_leaves(paths, seed):
    names = ["top", "middle", "leaf"]
    domain = Domain({"b": 2, "p": {"levels": {"names": names, "paths": paths}}})
    table = np.random.default_rng(seed).integers(0, 9, (2, len(paths))).astype(np.float64)
    for level in (*names, None):
        name = "p" if level is None else f"p@{level}"
        view = level_view(domain, ["b", name])
        parts = {}
        nodes = [path[names.index(level or "leaf")] for path in domain["p"].levels.paths]
        for leaf, node in enumerate(nodes):
            parts[node] = parts.get(node, 0) + table[:, leaf]
        assert view.rolled[name].labels == tuple(parts)
        assert (view.rolled_up(table) == np.stack(list(parts.values()), axis=1)).all()
        # The cells that the view lists are those that it sums.
        listed = [
            table[np.ix_(cell.get("b", range(2)), cell.get("p", range(len(paths))))].sum()
            for cell in view.cells()
        ]
        assert listed == view.rolled_up(table).ravel().tolist()


def test_rules_may_name_levels():
    forms = {"sex": 2, "p": {"levels": {"names": NAMES, "paths": PATHS}}}
    at_level = Domain(
        forms, impossible=[{"p@state": "01", "sex": 1}, {"p@county": "021", "sex": 0}]
    )
    leaves = ["0111", "0112", "0121"]
    assert at_level == Domain(forms, impossible=[{"p": leaves, "sex": 1}, {"p": "0211", "sex": 0}])
    both = Domain(forms, impossible=[{"p@state": "01", "p": ["0121", "0211"], "sex": 1}])
    assert both == Domain(forms, impossible=[{"p": "0121", "sex": 1}])
    for rule, message in (
        ({"p@stat": "01"}, "rule 1 .*'p@stat' is none of them; .*did you mean 'p@state'"),
        ({"p@state": "03"}, "attribute 'p@state' declares no category '03'"),
        ({"sex@state": 1}, "'sex@state' is none of them"),
        ({"p@state": "01", "p": "0211"}, "lies in all levels that the rule names"),
        ({3: "01"}, "3 is none of them"),
    ):
        with pytest.raises(DomainError, match=message):
            Domain(forms, impossible=[rule])
