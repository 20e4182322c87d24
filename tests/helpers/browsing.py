"""How tests read the page of a release in a browser."""

import base64
import json
import re
import time

import numpy as np

from margin.domain.bounds import whole_bounds


def held(text):
    """The data in a page."""
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL
    )
    return json.loads(data)


def doubles(text):
    return np.frombuffer(base64.b64decode(text), "<f8")


def texts(browser, selector):
    script = "return Array.from(document.querySelectorAll(arguments[0]), (e) => e.textContent)"
    return browser.execute_script(script, selector)


def until(condition, *, seen=lambda: None):
    """Wait until the condition holds; the failure shows what was seen instead."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, seen()
        time.sleep(0.05)


def written(path):
    """The condition that a download has arrived: the browser makes an empty file first."""
    return lambda: path.exists() and path.stat().st_size > 0


def chosen_file(browser, start):
    """The file of chosen lines whose name starts in this way, once it has arrived."""
    found = []

    def arrived():
        found[:] = browser.downloads.glob(f"{start}-chosen-*.csv")
        return found and found[0].stat().st_size > 0

    until(arrived)
    (file,) = found
    return file


def open_page(browser, path):
    """Open the page in a file; see `open_address`."""
    open_address(browser, path.as_uri())


def open_address(browser, address):
    """Open a page, and wait until its script has run. Under load `get` may return while the browser
    still shows the page before, which would take the clicks meant for the new one."""
    browser.get(address)
    script = "return document.readyState === 'complete' ? location.href : null"
    until(lambda: browser.execute_script(script) == address)


def in_colours(browser, scheme):
    """Let the browser prefer light or dark pages."""
    preference = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preference]})


def pick(browser, domain, names):
    browser.execute_script("document.getElementById('clear').click()")
    for name in names:
        place = domain.attributes.index(name)
        browser.execute_script(
            "document.querySelectorAll('#attributes input')[arguments[0]].click()", place
        )
    until(
        lambda: (
            texts(browser, "#asked") == [" \u00d7 ".join(names)]
            and texts(browser, "#table tbody tr")
        ),
        seen=lambda: (browser.current_url, texts(browser, "#asked"), texts(browser, "#status")),
    )


def having(labels):
    """What rows have in a sentence to print, from one or two labels of each attribute."""
    parts = []
    for name, own in labels.items():
        text = own[0] if len(own) == 1 else " or ".join(own)
        parts.append(
            f"{name} \u2018{text}\u2019" if re.search(",| or | and ", text) else f"{name} {text}"
        )
    start = ", ".join(parts[:-1])
    comma = "," * (len(parts) > 2)
    return f"{start}{comma} and {parts[-1]}" if start else parts[-1]


def printed(marginal):
    """The counts and bounds as the page should print them: whole, and bounds rounded outwards."""
    low, high = whole_bounds(*marginal.interval(0.95))
    columns = (marginal.counts.ravel(), low.ravel(), high.ravel())
    texts = [[f"{number:,.0f}" for number in row] for row in zip(*columns, strict=True)]
    return [[re.sub(r"^-(0\.?0*)$", r"\1", text) for text in row] for row in texts]


def between(count):
    """The bounds of a count of Python as the page has them: whole numbers."""
    return tuple(float(bound) for bound in whole_bounds(*count.interval(0.95)))


def share_between(part, whole, rest=None):
    """The bounds of the share of some rows in others, from the bounds of both and, if the page can
    tell them, from those of the rest."""

    def share_of(low, high):
        least, most = whole
        return low / most, min(high / least, 1) if least > 0 else 1

    low, high = share_of(*part)
    if rest is None:
        return low, high
    rest_low, rest_high = share_of(*rest)
    return max(low, 1 - rest_high), min(high, 1 - rest_low)


def share_of_line(synopsis, line, whole):
    """The share of a line in the rows with its categories of `whole`, and its bounds. A line has
    one category, or several, of each attribute."""
    group = {name: line[name] for name in whole}
    part, of = synopsis.count(line), synopsis.count(group)
    rest = None
    outside = [name for name in line if name not in whole]
    if len(outside) == 1:
        (name,) = outside
        own = line[name] if isinstance(line[name], list) else [line[name]]
        labels = synopsis.domain[name].captions
        others = [label for label in labels if label not in own]
        rest = between(synopsis.count({**group, name: others})) if others else None
    return part.estimate / of.estimate, *share_between(between(part), between(of), rest)


def rows_of(browser):
    # A narrow screen has the bounds and the share in the cell of the count, too.
    script = """return Array.from(document.querySelectorAll("#table tbody td.number"),
        (cell) => cell.firstChild.textContent)"""
    cells = browser.execute_script(script)
    return [cells[start : start + 3] for start in range(0, len(cells), 3)]


def tick(browser, name):
    """Click the box with this name, which ends at the number of categories."""
    script = """
        for (const label of document.querySelectorAll("#attributes label"))
            if (label.childNodes[1].textContent === arguments[0]) label.control.click();
    """
    browser.execute_script(script, name)


# A list of categories, and how a reader ticks one of them.
LIST = "const list = document.querySelectorAll('#choices details')[arguments[0]];"


def tick_category(browser, place, label):
    """Open the list of an attribute of the table, and click the box of a category."""
    browser.execute_script(f"{LIST} list.open = true;", place)
    labels = "[...list.querySelectorAll('label')]"
    until(lambda: browser.execute_script(f"{LIST} return {labels}.length;", place))
    find = f"{labels}.find((one) => one.textContent === arguments[1])"
    browser.execute_script(f"{LIST} {find}.control.click();", place, label)


def choose(browser, name, value):
    """Choose an option of a list, as a reader does."""
    script = """const list = document.getElementById(arguments[0]);
        list.value = arguments[1]; list.dispatchEvent(new Event("change"));"""
    browser.execute_script(script, name, value)


def either(labels):
    """Some categories as one, as the page writes them."""
    if len(labels) > 1 and any("," in label or " or " in label for label in labels):
        labels = [f"“{label}”" for label in labels]
    *others, last = labels
    comma = "," if len(others) > 1 else ""
    return f"{', '.join(others)}{comma} or {last}" if others else last


def put_together(browser, place, start="Put the chosen categories of "):
    """Open the list of an attribute of the table, and click the box that makes its chosen
    categories one, or another box with this beginning."""
    boxes = "[...list.querySelectorAll('label')]"
    find = f"{boxes}.find((one) => one.textContent.startsWith(arguments[1]))"
    browser.execute_script(f"{LIST} list.open = true; {find}.control.click();", place, start)
