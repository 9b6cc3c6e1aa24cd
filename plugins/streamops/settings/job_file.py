"""What can be seen of a job without running it: whether its `define` fits, and whether it starts queries itself.

The file is parsed, never imported. What can't be followed here (a query that an imported module starts, a `define` that a
decorator makes) is left to the driver, which refuses it before the first batch.
"""

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

FORM = (
    "`def define(spark, stream):` / `    rows = spark.readStream.format(…).load()` / `    return rows.writeStream.format(…)`:"
    " the runner sets name, checkpoint and trigger, and starts what is returned"
)

_MOST_BYTES = 2 * 1024 * 1024
"""Of a job that is looked into; nobody writes a longer one by hand."""

_WAITERS = frozenset({"awaitTermination", "awaitAnyTermination", "processAllAvailable"})
"""Of a query, or of `spark.streams`: who waits for a query has started one."""
_WRITERS = frozenset({"writeStream", "to_delta", "to_kafka", "to_files", "to_custom"})
"""What gives a writer: a frame's, and those of the context. The `start` of anything else is no query's, but a thread's."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLook:
    """What a look at a job file came to."""

    found: str = ""
    """What is wrong with it; empty where nothing is to be seen."""
    expected: str = ""
    unparsed: str = ""
    """Why it could not be looked into. No reason to refuse it: the driver's Python may be newer than this one."""


def look_at_job(job: str) -> JobLook:
    """Look into a job file. Costs a `stat` while the file stays the same: settings are read again and again."""
    try:
        stat = os.stat(job)
        return _look(job, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
    except OSError as error:
        return JobLook(unparsed=(error.strerror or str(error)).lower())


@lru_cache(maxsize=8192)
def _look(job: str, signature: tuple[int, ...]) -> JobLook:
    if signature[1] > _MOST_BYTES:
        return JobLook(unparsed=f"it is larger than {_MOST_BYTES} bytes")
    with open(job, "rb") as file:
        content = file.read(_MOST_BYTES)
    try:
        return judge_job(ast.parse(content))
    except SyntaxError as error:
        return JobLook(unparsed=f"line {error.lineno}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return JobLook(unparsed=str(error) or type(error).__name__)


def judge_job(tree: ast.Module) -> JobLook:
    """A job has a function define(spark, stream), and starts no query, neither when it is imported nor in `define`."""
    imported = tuple(_run_by_import(tree.body))
    define = _define_of(imported)
    start = _first_start(tree, imported, define if isinstance(define, ast.FunctionDef) else None)
    found = _unfit(define)
    if found and start:
        found = f"{found}, and {start}"
    if found := found or start:
        return JobLook(found=found, expected=f"a job of the form {FORM}")
    return JobLook()


def _run_by_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that an import runs, with those inside of compound ones, without what only a main program runs."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            runs = _guard(statement.test)
            yield from _run_by_import(statement.body if runs is not False else ())
            yield from _run_by_import(statement.orelse if runs is not True else ())
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                for name in ("body", "orelse", "finalbody"):
                    yield from _run_by_import(getattr(part, name, ()))


def _guard(test: ast.expr) -> bool | None:
    """What a condition comes to in an import: that of a main program is false; None for one that can't be told."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return False if any(_guard(value) is False for value in test.values) else None
    if ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Compare) and len(test.comparators) == 1:
        sides = {ast.unparse(test.left), ast.unparse(test.comparators[0])}
        if sides == {"__name__", repr("__main__")}:
            return {ast.Eq: False, ast.NotEq: True}.get(type(test.ops[0]))
    return None


def _define_of(imported: Iterable[ast.stmt]) -> ast.stmt | None:
    """What binds the name `define` last."""
    bound = None
    for statement in imported:
        if _binds_define(statement):
            bound = statement
    return bound


def _binds_define(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name == "define"
        case ast.ImportFrom() | ast.Import():
            return any((alias.asname or alias.name) in ("define", "*") for alias in statement.names)
        case ast.Assign():
            return any(isinstance(target, ast.Name) and target.id == "define" for target in statement.targets)
        case ast.AnnAssign():
            return isinstance(statement.target, ast.Name) and statement.target.id == "define"
    return False


def _unfit(define: ast.stmt | None) -> str:
    """What is wrong with `define` itself. One that was imported or made by a call is believed."""
    match define:
        case None:
            return "no function `define` at its top level"
        case ast.AsyncFunctionDef():
            return f"an async `define` in line {define.lineno}"
        case ast.ClassDef():
            return f"a class `define` in line {define.lineno}"
        case ast.Assign(value=ast.Constant()):
            return f"a `define` in line {define.lineno} that is no function"
        case ast.FunctionDef(decorator_list=[]) if not _takes_two(define.args):
            return f"`define({ast.unparse(define.args)})` in line {define.lineno}"
    return ""


def _takes_two(parameters: ast.arguments) -> bool:
    """Whether it can be called with a session and a context."""
    positional = len(parameters.posonlyargs) + len(parameters.args)
    if any(default is None for default in parameters.kw_defaults):
        return False
    return positional - len(parameters.defaults) <= 2 and (positional >= 2 or parameters.vararg is not None)


def _first_start(tree: ast.Module, imported: Iterable[ast.stmt], define: ast.FunctionDef | None) -> str:
    """Where the job first starts a query, or waits for one; empty where it can't be seen to."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    # What an import runs stands in the list statement by statement, so that a branch that it passes over is left out.
    simple = [_without_body(statement) for statement in imported]
    todo: list[tuple[list[ast.AST], str]] = [
        ([node for nodes in simple for node in nodes], "which runs when the file is imported"),
        (list(define.body) if define else [], "inside `define`"),
    ]
    seen: set[str] = set()
    while todo:
        nodes, where = todo.pop(0)
        ran = [node for each in nodes for node in _run(each)]
        writers = _writer_names(ran)
        for call in (node for node in ran if isinstance(node, ast.Call)):
            if _starts_query(call, writers):
                assert isinstance(call.func, ast.Attribute)
                return f"`.{call.func.attr}()` in line {call.func.end_lineno}, {where}"
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name in functions and name not in seen:
                seen.add(name)
                todo.append((list(functions[name].body), f"in `{name}`, called from line {call.lineno}"))
    return ""


def _without_body(statement: ast.stmt) -> list[ast.AST]:
    """A statement itself, or the head of a compound one, whose inner statements are listed beside it."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Try() | ast.TryStar():
            return []
        case ast.If() | ast.While():
            return [statement.test]
        case ast.For():
            return [statement.iter]
        case ast.Match():
            return [statement.subject]
        case ast.With():
            return [item.context_expr for item in statement.items]
    return [statement]


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what runs with it: not the bodies of functions, which run when they are called."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _run(child)


def _writer_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that hold the writer of a stream."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_writer(node.value, names):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(names)


def _starts_query(call: ast.Call, writers: Iterable[str]) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    attribute = call.func.attr
    if attribute in _WAITERS or attribute == "toTable":
        return True
    return attribute == "start" and _is_writer(call.func.value, writers)


def _is_writer(node: ast.AST, writers: Iterable[str]) -> bool:
    """Whether an expression is a chain of calls on a writer: `rows.writeStream.format("noop")`."""
    while True:
        match node:
            case ast.Attribute() if node.attr in _WRITERS:
                return True
            case ast.Attribute() | ast.Subscript():
                node = node.value
            case ast.Call():
                node = node.func
            case ast.Name():
                return node.id in writers
            case _:
                return False
