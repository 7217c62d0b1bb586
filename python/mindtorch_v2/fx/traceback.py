"""Notes about nodes that passes carry from one graph to the next."""

import contextlib
import copy
import traceback

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]

current_meta = {}
should_preserve_node_meta = False


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Nodes that are made inside have the notes of the node that set_current_meta names.

    >>> with torch.fx.traceback.preserve_node_meta():
    ...     torch.fx.traceback.has_preserved_node_meta()
    True
    """
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta
    should_preserve_node_meta, current_meta = enable, current_meta.copy()
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


def has_preserved_node_meta():
    """Whether notes are carried on.

    >>> torch.fx.traceback.has_preserved_node_meta()
    False
    """
    return should_preserve_node_meta


def get_current_meta():
    """The notes that new nodes get."""
    return current_meta


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """New nodes get the notes of `node`, if notes are carried on."""
    global current_meta
    if not should_preserve_node_meta or not node.meta:
        yield
        return
    before = current_meta
    current_meta = node.meta.copy()
    try:
        yield
    finally:
        current_meta = before


def set_stack_trace(stack):
    """Notes the lines of a stack, if notes are carried on."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def format_stack():
    """The lines of the noted stack, or of the current one."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def annotate(annotation_dict):
    """Nodes that are made inside have these entries in meta["custom"], if notes are carried on.

    >>> with torch.fx.traceback.preserve_node_meta(), torch.fx.traceback.annotate({"stage": 1}):
    ...     torch.fx.traceback.get_current_meta()
    {'custom': {'stage': 1}}
    """
    global current_meta
    before = current_meta
    current_meta = copy.copy(before)
    current_meta["custom"] = {**before.get("custom", {}), **annotation_dict}
    try:
        yield
    finally:
        current_meta = before


def annotate_fn(annotation_dict):
    """annotate() as a decorator."""
    import functools

    def decorate(function):
        @functools.wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate
