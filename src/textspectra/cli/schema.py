"""`textspectra schema`: the JSON Schema of what --json prints."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import click


@click.command("schema")
@click.argument("name", metavar="[COMMAND]", required=False)
def command(name: str | None) -> None:
    """Print the JSON Schema of what COMMAND --json prints, or of all commands.

    `error` is the schema of an error. New keys keep the schema_version; it is raised if a key goes, or gets another
    name or type.
    """
    schema = read_schema()
    known = list(schema["properties"])
    if name is not None and name not in known:
        raise click.BadParameter(f"there is no schema {name!r}; there are {', '.join(known)}.", param_hint="COMMAND")
    click.echo(json.dumps(schema if name is None else schema_of(name), indent=1))


def read_schema() -> dict[str, Any]:
    """Return the whole schema, from the file that is in the package."""
    schema: dict[str, Any] = json.loads((files("textspectra") / "data" / "schema.json").read_text(encoding="utf-8"))
    return schema


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of one command, complete in itself.

    Examples
    --------
    >>> schema_of("predict")["$ref"]
    '#/$defs/predict'
    """
    schema = read_schema()
    return {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
