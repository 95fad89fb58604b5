"""Runs the Python of a page, from standard input.  Where a line is an expression with a comment, it
has the value that the comment says; what stands in parentheses at the end of one is for readers.
"""

import ast
import re
import sys

source = sys.stdin.read()
names = {"__name__": "__main__"}
wrong = []
for node in ast.parse(source).body:
    text = ast.get_source_segment(source, node)
    if not isinstance(node, ast.Expr):
        exec(compile(ast.Module([node], []), "example", "exec"), names)
        continue
    value = eval(text, names)
    line = source.splitlines()[node.end_lineno - 1]
    comment = re.search(r"  # (.+)", line[node.end_col_offset:])
    if comment is None or value is None:
        continue
    said = re.sub(r" \(.*\)$", "", comment[1])
    shown = repr(value).strip("()") if isinstance(value, tuple) else repr(value)
    if said != shown:
        wrong.append(f"{text}: is {shown}, not {said}")
sys.exit("\n".join(wrong) or None)
