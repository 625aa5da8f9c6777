"""Expected errors: their kinds, their exit codes, and the messages for paths and missing packages."""

import errno
import os

import pytest

from textspectra.errors import (
    ExternalError,
    NoRowsError,
    TextspectraError,
    UsageError,
    UserError,
    cannot_write,
    check_path,
    require,
)


@pytest.mark.parametrize(
    ("kind", "code", "is_value_error"),
    [(UsageError, 2, True), (UserError, 3, True), (NoRowsError, 3, True), (ExternalError, 4, False)],
)
def test_each_kind_has_an_exit_code_and_only_wrong_values_are_value_errors(kind, code, is_value_error):
    assert issubclass(kind, TextspectraError)
    assert (kind.exit_code, issubclass(kind, ValueError)) == (code, is_value_error)


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EACCES, UsageError), (errno.EISDIR, UsageError), (errno.ENOSPC, ExternalError)]
)
def test_a_wrong_place_is_a_usage_error_and_a_full_disk_is_external(number, kind):
    error = cannot_write("it cannot be written", OSError(number, os.strerror(number)))
    assert (type(error), str(error)) == (kind, "it cannot be written")


def test_a_path_must_be_utf_8():
    check_path("münchen.csv")
    with pytest.raises(UserError, match=r"^the name 'a\\xff\.csv' is not valid UTF-8, so no output could hold it"):
        check_path(os.fsdecode(b"a\xff.csv"))


def test_a_missing_package_names_its_install_command_and_a_broken_one_its_own_error(tmp_path, monkeypatch):
    with pytest.raises(ImportError, match=r'^no_such is needed .* pip install "textspectra\[plot\]"$') as caught:
        require("no_such", extra="plot")
    assert isinstance(caught.value, UserError)
    assert caught.value.name == "no_such"
    (tmp_path / "broken_package.py").write_text("import no_such_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_dependency'$"):
        require("broken_package", extra="plot")
    assert require("json", extra="plot").loads("[]") == []
