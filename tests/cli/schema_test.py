#!/usr/bin/env python3
"""The rows of schemas, as the program prints them, and what is made of them: the
tables of the pages.  Every shipped config is valid, and what is broken in the
tests of messages is not, as far as form goes: ranges of quantities and rules between keys are no
matter of a JSON Schema.

With --write the tables are renewed.

usage: schema_test.py DFSEARCH [--write] [unittest arguments]
"""

import json
import pathlib
import re
import sys
import unittest

from support import printed_schema

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / name for name in ("calculon.md", "formats.md", "serving.md", "technology.md",
                                       "truth.md")]
TABLE = re.compile(r"(<!-- keys of ([\w ,']+?)(?: as ([\w.]+))? -->\n)((?:\|.*\n)*)")
LONGEST = 250  # a map with more to say has a table of its own

PARTS = {"systems": "system", "workloads": "workload"}
# What is wrong with a config, but not with the form of any of its values.
BEYOND_FORM = re.compile(
    r"expected a quantity from|duplicate key|unknown kernel|cannot be sharded|a partition from|"
    r"needs prices|needs powers|too many|product of the degrees|one for each|negative|out of range|"
    r"got '1e3'|one degree|like '2\.\.8'|at most 3 dim|accepted$")


# The tables of the page.

def words(rule):
    return ", ".join(f"`{json.dumps(word) if isinstance(word, bool) else word}`"
                     for word in rule["enum"])


def value(rule, definitions, is_inner=False):
    """How a page calls the values of a key."""
    if "allOf" in rule:
        return value(rule["allOf"][0], definitions, is_inner)
    if "$ref" in rule:
        if is_inner:
            return "map"
        name = rule["$ref"].rpartition("/")[2].replace("%20", " ")
        keys = "`{" + ", ".join(
            f"{key}: {value(of, definitions, True).replace('`', '').replace(', ', ' or ')}"
            for key, of in definitions[name]["properties"].items()) + "}`"
        return keys if len(keys) < LONGEST else "map"
    if "anyOf" in rule:
        first, last = rule["anyOf"][0], rule["anyOf"][-1]
        if last.get("items") == first and ("enum" in first or not is_inner):
            return f"{value(first, definitions, is_inner)} or a list of them"
        return " or ".join(value(one, definitions, is_inner) for one in rule["anyOf"])
    if "if" in rule:
        return "map"
    if "const" in rule:
        return f"`{rule['const']}`"
    if "enum" in rule:
        return words(rule)
    kind = rule.get("type", "map")
    if kind in ("integer", "number") and is_inner:
        return {"integer": "count"}.get(kind, kind)
    if kind == "integer":
        least, most = rule["minimum"], rule["maximum"]
        if most in (2**53, 2**60):
            return f"count up to 2^{most.bit_length() - 1}"
        if most == 2**40:
            return "count" if least == 1 else f"count from {least}"
        return f"count up to {most}" if least == 1 else f"count, {least} to {most}"
    if kind == "number":
        low, high = rule["minimum"], rule["maximum"]
        return "number" if high >= 1e20 else f"number, {low:g} to {high:g}".replace("e-0", "e-")
    if kind == "boolean":
        return "`true`, `false`"
    if kind == "array":
        if isinstance(rule["items"], list):
            return "pair"
        if "$ref" in rule["items"]:
            return "list"
        return "a list of " + re.sub(r"^(count|number|pair)\b", r"\1s",
                                     value(rule["items"], definitions, is_inner))
    if kind == "object":
        return "map"
    return rule.get("title", "a range (`..4`, `2..`, `2..8`)" if "[.][.]" in rule.get("pattern", "") else "text")


def default(rule):
    if "default" not in rule:
        return rule.get("leftOut", "")
    held = rule["default"]
    return json.dumps(held) if isinstance(held, bool) else str(held)


def needed(key, definition):
    if key in definition.get("required", []):
        return "required"
    for choices in [definition, *definition.get("allOf", [])]:
        for rule in choices.get("anyOf", []):
            if rule["required"] == [key]:
                other = next(one["required"][0] for one in choices["anyOf"] if one != rule)
                return f"required, or `{other}`"
    for other, keys in definition.get("dependencies", {}).items():
        if key in keys:
            return f"required with `{other}`"
    return ""


def table(schema, names, prefix):
    definitions, rows = schema["definitions"], {}
    switches = names == ["equations"]
    for name in names:
        for key, rule in definitions[name]["properties"].items():
            said = value(rule, definitions)
            if switches:
                cells = [said.replace("`", "").replace(" or ", ", a "), default(rule),
                         str(rule.get("published", ""))]
            else:
                why = needed(key, definitions[name])
                if name != names[0]:  # beside another form of the map
                    why = "none" if why else ""
                cells = [said, why or default(rule)]
            rows.setdefault(f"`{prefix}{key}`", [*cells, rule.get("description", "")])
    head = (["switch", "values", "`physical`", "`published`", ""] if switches
            else ["key", "value", "default", ""])
    lines = [head, ["---"] * len(head)]
    for key, cells in rows.items():  # neighbours that differ in their key alone share a row
        if lines[-1][1:] == cells:
            lines[-1][0] += f", {key}"
        else:
            lines.append([key, *cells])
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    return re.sub(r" +\|", " |", text).replace(" --- ", "---")


def renewed(page, schema):
    def renew(found):
        names = found[2].split(", ")
        return found[1] + table(schema, names, f"{found[3]}." if found[3] else "")
    return TABLE.sub(renew, page.read_text())


# Configs as YAML 1.2 has them, as editors do.

def load(text):
    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {}

    def resolve(tag, pattern, first):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)

    resolve("bool", r"^(true|false)$", "tf")
    resolve("null", r"^(null|~|)$", ["n", "~", ""])
    resolve("int", r"^-?(0|[1-9][0-9]*)$", "-0123456789")
    resolve("float", r"^-?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$", "-0123456789.")
    return yaml.load(text, Loader)  # noqa: S506


def broken_configs():
    """Text and message of the wrong values of the transcript, for the sections with rows."""
    source = (ROOT / "tests/cli/transcripts/malformed.txt").read_text()
    good = source.partition("==== c.yaml\n")[2].partition("====\n")[0]
    for name in ("Systems", "Execution, sharding, equations and search"):
        body = source.partition(f"# {name}\n")[2].partition("\n# ")[0]
        for what, by, message in re.findall(r"^~ (.*) -> (.*)\n  (.*)", body, re.MULTILINE):
            what, by = (piece.replace("\\n", "\n") for piece in (what, by))
            yield good.replace(what, by, 1), message


class SchemaTest(unittest.TestCase):
    schema = None

    def test_the_tables_of_the_pages_are_the_rows(self):
        for page in PAGES:
            self.assertGreater(len(TABLE.findall(page.read_text())), 0)
            self.assertEqual(page.read_text(), renewed(page, self.schema),
                             f"renew it: {sys.argv[0]} DFSEARCH --write")

    def test_no_range_is_empty(self):
        def ranges(rule):
            if isinstance(rule, dict):
                if "minimum" in rule and "maximum" in rule:
                    yield rule
                for inner in rule.values():
                    yield from ranges(inner)
            elif isinstance(rule, list):
                for inner in rule:
                    yield from ranges(inner)
        found = list(ranges(self.schema))
        self.assertGreater(len(found), 100)
        for rule in found:
            self.assertLess(rule["minimum"], rule["maximum"], rule)

    @unittest.skipUnless(jsonschema, "python3-jsonschema and python3-yaml are not installed")
    def test_every_shipped_config_is_valid(self):
        jsonschema.Draft7Validator.check_schema(self.schema)
        validator = jsonschema.Draft7Validator(self.schema)
        count = 0
        for file in sorted((ROOT / "configs").rglob("*.yaml")):
            kind = file.relative_to(ROOT / "configs").parts[0]
            if kind in ("studies", "technologies", "efficiencies", "curves", "stacks",
                        "engines", "families"):
                continue
            config = load(file.read_text())
            if kind in PARTS:  # a part, which may itself leave the rest to a file
                config = {name: {"from": "part"} for name in PARTS.values()} | {
                    PARTS[kind]: {"from": "part"} | config}
                if file.name.startswith("calculon_"):
                    config |= {"equations": "calculon", "calculon": {}}
            elif "workload" not in config and "fleet" not in config:  # of a chip alone
                config = {"workload": {"from": "part"}} | config
            with self.subTest(file):
                count += 1
                found = sorted(validator.iter_errors(config), key=lambda e: list(e.path))
                self.assertEqual([f"{list(e.path)}: {e.message[:300]}" for e in found], [])
        self.assertGreater(count, 150)

    @unittest.skipUnless(jsonschema, "python3-jsonschema and python3-yaml are not installed")
    def test_what_is_broken_is_refused(self):
        validator = jsonschema.Draft7Validator(self.schema)
        count = 0
        for text, message in broken_configs():
            if re.search(BEYOND_FORM, message):
                continue
            count += 1
            with self.subTest(message):
                self.assertFalse(validator.is_valid(load(text)))
        self.assertGreater(count, 40)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    SchemaTest.schema = json.loads(printed_schema())
    del sys.argv[1]
    if "--write" in sys.argv:
        for page in PAGES:
            page.write_text(renewed(page, SchemaTest.schema))
        return
    done = unittest.main(exit=False)
    if not done.result.wasSuccessful():
        sys.exit(1)
    if not jsonschema:
        print("skipped: python3-jsonschema and python3-yaml are not installed")


if __name__ == "__main__":
    main()
