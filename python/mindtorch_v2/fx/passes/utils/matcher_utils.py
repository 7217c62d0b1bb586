"""SubgraphMatcher: places in a graph that look like another graph."""

import copy
from dataclasses import dataclass, field

from mindtorch_v2.fx._attributes import _get_attr, _has_attr
from mindtorch_v2.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place: for each node of the pattern the node of the graph, or the value where the
    pattern has an input and the graph a constant. `anchors` are the last nodes of the pattern."""

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)  # what stands for the pattern's inputs
    returning_nodes: list = field(default_factory=list)  # what stands for the pattern's results
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            anchors=self.anchors,
            nodes_map=self.nodes_map.copy(),
            placeholder_nodes=self.placeholder_nodes.copy(),
            returning_nodes=self.returning_nodes.copy(),
        )


class SubgraphMatcher:
    """Finds a pattern in graphs. A match must be closed: nothing outside uses a node inside but
    its results.

    >>> from mindtorch_v2.fx.passes.utils.matcher_utils import SubgraphMatcher
    >>> pattern = torch.fx.symbolic_trace(lambda a: torch.relu(a)).graph
    >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1) * 2).graph
    >>> [match.anchors for match in SubgraphMatcher(pattern).match(graph)]
    [[relu]]
    """

    def __init__(
        self,
        pattern,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=False,
    ):
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:  # results that no other result depends on
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph, node_name_match=""):
        """The matches, in the order of the graph's nodes, none of which share nodes."""
        places = [[] for _ in self.pattern_anchors]
        for node in graph.nodes:
            for i, anchor in enumerate(self.pattern_anchors):
                if self._same_kind(anchor, node) or (
                    node_name_match and node_name_match in node.name
                ):
                    places[i].append(node)
        matches = []
        self._match_anchors(places, 0, InternalMatch(list(self.pattern_anchors)), matches)
        matches = [match for match in matches if self._is_closed(match)]
        for match in matches:
            match.placeholder_nodes = [
                match.nodes_map[n] for n in self.pattern_placeholder_nodes if n in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
        return self._without_overlaps(matches) if self.remove_overlapping_matches else matches

    def _match_anchors(self, places, index, match, found):
        """Tries the places of each anchor in turn."""
        if index == len(places):
            found.append(match)
            return
        for node in places[index]:
            attempt = copy.copy(match)
            if self._match_node(self.pattern_anchors[index], node, attempt):
                self._match_anchors(places, index + 1, attempt, found)

    def _same_kind(self, pattern_node, node):
        if not self.match_placeholder and pattern_node.op == "placeholder":
            return True
        if pattern_node.op != node.op:
            return False
        if pattern_node.op in ("placeholder", "output"):
            return True
        if pattern_node.op == "get_attr":
            return self._same_attribute(pattern_node, node)
        return pattern_node.target == node.target

    @staticmethod
    def _value(node):
        owner = node.graph.owning_module
        if owner is None or not _has_attr(owner, node.target):
            return None
        return _get_attr(owner, node.target)

    def _same_attribute(self, pattern_node, node):
        mine, other = self._value(pattern_node), self._value(node)
        return type(mine) is type(other)

    def _match_node(self, pattern_node, node, match):
        if pattern_node in match.nodes_map:
            return match.nodes_map[pattern_node] is node
        if node in match.nodes_map.values() and pattern_node.op != "placeholder":
            return False
        if not self._same_kind(pattern_node, node):
            return False
        match.nodes_map[pattern_node] = node
        if pattern_node.op == "placeholder":
            return True
        args = self._match_arguments(pattern_node.args, node.args, match)
        if args and self._match_arguments(pattern_node.kwargs, node.kwargs, match):
            return True
        named = self._by_name(pattern_node), self._by_name(node)
        return None not in named and self._match_arguments(*named, match)

    @staticmethod
    def _by_name(node):
        """All arguments by the names of their parameters, or None."""
        if node.op != "call_function" or not node.kwargs:
            return None
        pair = node.normalized_arguments(None, normalize_to_only_use_kwargs=True)
        return None if pair is None else pair.kwargs

    def _match_arguments(self, pattern, given, match):
        if isinstance(pattern, Node):
            if isinstance(given, Node):
                return self._match_node(pattern, given, match)
            if pattern.op != "placeholder" or self.match_placeholder:
                return False
            known = match.nodes_map.setdefault(pattern, given)
            return known is given or (type(known) is type(given) and known == given)
        if isinstance(given, Node):
            return False
        if isinstance(pattern, (list, tuple)):
            return (
                isinstance(given, (list, tuple))
                and len(pattern) == len(given)
                and all(map(self._match_arguments, pattern, given, [match] * len(given)))
            )
        if isinstance(pattern, dict):
            return (
                isinstance(given, dict)
                and pattern.keys() == given.keys()
                and all(self._match_arguments(v, given[k], match) for k, v in pattern.items())
            )
        if isinstance(pattern, slice):
            parts = (pattern.start, pattern.stop, pattern.step)
            return isinstance(given, slice) and self._match_arguments(
                parts, (given.start, given.stop, given.step), match
            )
        return self.ignore_literals or (type(pattern) is type(given) and pattern == given)

    def _is_closed(self, match):
        """Whether only results are used outside."""
        inside = set()
        for pattern_node, node in match.nodes_map.items():
            if isinstance(node, Node) and pattern_node.op not in ("placeholder", "output"):
                inside.add(node)
        results = {match.nodes_map[n] for n in self.pattern_returning_nodes}
        if self.match_output:
            inside.update(match.nodes_map[anchor] for anchor in match.anchors)
        return all(user in inside for node in inside if node not in results for user in node.users)

    @staticmethod
    def _without_overlaps(matches):
        kept, taken = [], set()
        for match in matches:
            nodes = {
                node
                for pattern_node, node in match.nodes_map.items()
                if isinstance(node, Node) and pattern_node.op not in ("placeholder", "output")
            }
            if not nodes & taken:
                taken |= nodes
                kept.append(match)
        return kept
