"""What the pages of the documents have in common: how their prose is wrapped."""

import re
import textwrap

WIDTH = 100


def wrapped(page):
    """The page with long lines of prose broken, each by itself.

    Tables and fenced blocks stay as they are; items of lists are indented as Markdown asks.
    """
    lines, fenced = [], False
    for line in page.split("\n"):
        fenced ^= line.startswith("```")
        if fenced or line.startswith(("|", "```")) or len(line) <= WIDTH:
            lines.append(line)
            continue
        mark = re.match(r"([-*] |\d+\. )?", line)[0]
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=" " * len(mark),
                               break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)
