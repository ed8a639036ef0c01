"""What a landing runs of products of parameters.

ctest runs each value of each parameter (`--each-value`), and nothing that is marked `nightly`; pytest by hand, and
scripts/test.sh --products, which scripts/nightly.sh calls, run every combination.
"""

import collections
import re


def pytest_addoption(parser):
    """The two options."""
    group = parser.getgroup("attn")
    group.addoption("--each-value", action="store_true", help="of products of parameters, cover each value once")
    group.addoption("--products", action="store_true", help="run every combination, in spite of --each-value")


def pytest_configure(config):
    """The mark."""
    config.addinivalue_line("markers", "nightly: with --each-value left out, since others cover most of it")


def list_values(item):
    """The values of one combination. A decorator lists those of several names together, and is one parameter."""
    params = item.callspec.params
    names = (mark.args[0] for mark in item.iter_markers("parametrize"))
    decorated = [re.findall(r"\w+", x) if isinstance(x, str) else list(x) for x in names]
    alone = [[name] for name in params if not any(name in names for names in decorated)]
    return {(tuple(names), tuple(id(params[name]) for name in names)) for names in [*decorated, *alone]}


def cover(combinations):
    """As few combinations as have each value: in turn that with the most new ones, of these with the rarest others."""
    left = {item: list_values(item) if hasattr(item, "callspec") else {()} for item in combinations}
    seen = collections.Counter()
    while left:
        best = max(left, key=lambda item: (sum(not seen[x] for x in left[item]), -sum(seen[x] for x in left[item])))
        if all(seen[x] for x in left[best]):
            return
        seen.update(left.pop(best))
        yield best


def pytest_collection_modifyitems(config, items):
    """Leaves the combinations that no new value has to scripts/nightly.sh."""
    if not config.option.each_value or config.option.products:
        return
    functions = collections.defaultdict(list)
    for item in items:
        if item.get_closest_marker("nightly"):
            continue
        functions[item.parent, getattr(item, "originalname", item.name)].append(item)
    kept = {item for combinations in functions.values() for item in cover(combinations)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
