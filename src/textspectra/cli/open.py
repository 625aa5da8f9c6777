"""`textspectra open`: open a report in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click


@click.command("open")
@click.argument("name", metavar="NAME")
def command(name: str) -> None:
    """Open the report of NAME in the browser.

    NAME is the report itself, the file that was clustered, the folder NAME.model, or what their names begin with.
    """
    path = find_report(name)
    open_in_browser(path)


def find_report(name: str) -> Path:
    """Return the report that belongs to a file, a model folder or the beginning of their names.

    Examples
    --------
    >>> find_report("no/such.csv")
    Traceback (most recent call last):
        ...
    textspectra.errors.UserError: There is no report of 'no/such.csv', such as no/such.report.html. Make one with \
`textspectra cluster FILE` or `textspectra report MODEL`.
    """
    from ..errors import UserError

    path = Path(name)
    if path.suffix == ".html" and path.is_file():
        return path
    stems = [path.name]
    while Path(stems[-1]).suffix:  # such as tickets.csv.gz
        stems.append(Path(stems[-1]).stem)
    places = [path.with_name(f"{stem}.report.html") for stem in stems if stem]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        such = f", such as {places[-1]}" if places else ""
        raise UserError(
            f"There is no report of {name!r}{such}. "
            "Make one with `textspectra cluster FILE` or `textspectra report MODEL`."
        )
    return found


def open_in_browser(path: Path) -> None:
    """Open a page in the user's browser; where there is none, say so and name the file."""
    if not webbrowser.open(path.absolute().as_uri()):
        click.echo(f"There is no browser here that could be opened; open this file in one: {path}", err=True)
