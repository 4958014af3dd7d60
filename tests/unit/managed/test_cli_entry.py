from pathlib import Path

import pytest
import typer

from kg_api import __version__
from kg_api.errors import NotFound
from kg_cli import main
from kg_cli.terminal import console


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG_HOME", str(tmp_path / "kg"))
    console.stderr.cache_clear()
    console.stdout.cache_clear()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)

    def add(name: str, error: BaseException | None) -> None:
        @app.command(name)
        def _() -> None:
            if error:
                raise error

    add("missing", NotFound("there is no [red]ontology"))
    add("broken", ZeroDivisionError("a fault"))
    add("interrupted", KeyboardInterrupt())
    add("fine", None)
    monkeypatch.setattr(main, "app", app)


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run_command(["--version"]) == 0
    assert capsys.readouterr().out == f"kg {__version__}\n"


@pytest.mark.usefixtures("failing")
def test_kg_error_prints_one_block_with_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run_command(["missing"]) == NotFound.exit_code == 4
    written = capsys.readouterr()
    assert (written.out, written.err) == ("", "kg: there is no [red]ontology\n")


@pytest.mark.usefixtures("failing")
def test_unexpected_error_explains_how_to_show_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run_command(["broken"]) == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError: a fault" in said
    assert "KG_LOG__LEVEL=debug" in said
    assert "Traceback" not in said


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [("KG_LOG__LEVEL", "debug", "Traceback"), ("KG_API__PORT", "none", "ZeroDivisionError: a fault")],
)
def test_unexpected_error_is_printed_with_trace_or_invalid_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert main.run_command(["broken"]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(
    ("arguments", "code"), [(["interrupted"], 130), (["fine"], 0), (["no-such"], 2), (["fine", "--x"], 2)]
)
def test_other_ends_have_their_codes(arguments: list[str], code: int) -> None:
    assert main.run_command(arguments) == code
