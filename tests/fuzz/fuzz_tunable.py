"""Annotated constants and stage lists: a tunable with a value within its own limits, or a sentence with the line."""

import ast

from evocore.mutators.contract import parse
from evocore.mutators.declarations import Malformed, is_stage_list, read_stages, read_tunable


def check(data):
    text = data.decode("utf-8", "replace")
    for source in (text, f"X: Annotated[{text}"):
        try:
            tree = parse(source)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            continue
        for statement in tree.body:
            read(statement)


def read(statement: ast.stmt):
    try:
        tunable = read_tunable(statement)
        if tunable is not None:
            assert tunable.limits.contains(tunable.value)
            assert tunable.is_same_gene(tunable)
        if is_stage_list(statement):
            assert all(stage.share > 0 and stage.function for stage in read_stages(statement))
    except Malformed as malformed:
        assert malformed.line >= 1
        assert 0 < len(str(malformed)) < 1000
