"""replace_pattern: parts of a graph become something else."""

import copy
from dataclasses import dataclass
from typing import NamedTuple

from mindtorch_v2.fx._attributes import _copy_attr, _get_attr, _has_attr
from mindtorch_v2.fx._symbolic_trace import symbolic_trace
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node
from mindtorch_v2.fx.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place that was replaced: the node at its end, and the nodes by those of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """The same, with the nodes that stand there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm, pattern, replacement):
    """Replaces every place of a GraphModule that looks like `pattern` by `replacement`: functions,
    modules or graphs with the same parameters. Returns the places.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
    >>> places = torch.fx.replace_pattern(
    ...     traced, lambda a: torch.relu(a), lambda a: torch.sigmoid(a))
    >>> len(places), "sigmoid" in traced.code
    (1, True)
    """
    found = _replace_pattern(gm, pattern, replacement)
    return [Match(anchor=item.anchor, nodes_map=item.nodes_map) for item in found]


def replace_pattern_with_filters(
    gm,
    pattern,
    replacement=None,
    match_filters=None,
    ignore_literals=False,
    replacement_callback=None,
    node_name_match="",
):
    """The same for the places that all of match_filters(match, original graph, pattern graph)
    accept. With `ignore_literals` numbers and strings need not agree;
    replacement_callback(match, original graph, pattern graph) gives a graph for each place.

    >>> from mindtorch_v2.fx.subgraph_rewriter import replace_pattern_with_filters
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1) * 2)
    >>> places = replace_pattern_with_filters(
    ...     traced, lambda a: a + 7, lambda a: a - 7, ignore_literals=True)
    >>> places[0].replacements
    [sub]
    """
    return _replace_pattern(
        gm,
        pattern,
        replacement,
        match_filters,
        ignore_literals,
        replacement_callback,
        node_name_match,
    )


def _graph_of(program):
    if isinstance(program, GraphModule):
        return program.graph
    return program if isinstance(program, Graph) else symbolic_trace(program).graph


def _replace_pattern(
    gm,
    pattern,
    replacement=None,
    match_filters=None,
    ignore_literals=False,
    replacement_callback=None,
    node_name_match="",
):
    original, pattern = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(original, node_name_match=node_name_match)
        if all(accepts(match, original, pattern) for accepts in match_filters or ())
    ]
    common = None
    if replacement is not None:
        common = _graph_of(replacement)
    elif replacement_callback is None:
        raise AssertionError("Must provide either replacement graph or replacement_callback")
    replaced, now = [], {}  # `now`: what stands for nodes that earlier places had
    for match in matches:
        new = common
        if replacement_callback is not None:
            new = _graph_of(replacement_callback(match, original, pattern))
        replaced.append(_replace_one(original, match, new, now))
    gm.recompile()
    if isinstance(replacement, GraphModule) or hasattr(replacement, "named_modules"):
        _take_attributes(gm, replacement)
    return replaced


def _replace_one(original, match, new, now):
    placeholders = [node for node in new.nodes if node.op == "placeholder"]
    given = [now.get(v, v) if isinstance(v, Node) else v for v in match.placeholder_nodes]
    assert len(given) == len(placeholders), (
        f"the pattern has {len(given)} inputs, the replacement {len(placeholders)}"
    )
    values = dict(zip(placeholders, given, strict=True))
    inside = {
        node
        for pattern_node, node in match.nodes_map.items()
        if isinstance(node, Node) and pattern_node.op not in ("placeholder", "output")
    }
    result, added = _insert(original, new, values, inside, match.returning_nodes)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    assert len(results) == len(match.returning_nodes), (
        f"the pattern has {len(match.returning_nodes)} results, the replacement {len(results)}"
    )
    for old, new_node in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(new_node)
        now[old] = new_node
    for node in reversed(original.nodes):
        if node in inside and not node.users:
            original.erase_node(node)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _insert(original, new, values, inside, returning):
    """Copies the replacement before the first node that uses a result of the old one."""
    users = {user for node in returning for user in node.users if user not in inside}
    place = min(users) if users else max(inside)
    inputs = [v for v in values.values() if isinstance(v, Node)]
    if inputs and not max(inputs) < place:  # cannot be: users come after what they use
        place = max(inputs).next
    copied = dict(values)
    with original.inserting_before(place):
        result = original.graph_copy(new, copied)
    added = [copied[n] for n in new.nodes if n in copied and n.op not in ("placeholder", "output")]
    return result, added


def _take_attributes(gm, replacement):
    """Gives the module the attributes that the replacement's nodes name, and drops what no node
    names any more."""
    for node in gm.graph.nodes:
        if node.op not in ("get_attr", "call_module") or _has_attr(gm, node.target):
            continue
        if not _has_attr(replacement, node.target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target '
                f"{node.target}, but the referenced attribute does not exist in the replacement "
                "GraphModule"
            )
        value = _get_attr(replacement, node.target)
        _copy_attr(replacement, gm, node.target)
        if node.op == "call_module":
            gm.add_submodule(node.target, copy.deepcopy(value))
    gm.delete_all_unused_submodules()
    gm.graph.lint()
