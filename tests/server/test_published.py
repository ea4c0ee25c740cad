"""server.json: valid, and the same as what the package, its command and the README say."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from flower_mcp import __version__
from flower_mcp.server import main as command
from flower_mcp.server.app import WEBSITE
from tests.server.node import TOP


@pytest.fixture
def published() -> dict[str, Any]:
    """server.json."""
    value: dict[str, Any] = json.loads((TOP / "server.json").read_text())
    return value


@pytest.fixture
def project() -> dict[str, Any]:
    """The project's table of pyproject.toml."""
    value: dict[str, Any] = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    return value


def test_it_is_valid(published: dict[str, Any]) -> None:
    schema = json.loads((TOP / "tests" / "data" / "server.schema.json").read_text())
    assert published["$schema"] == schema["$id"]
    jsonschema.Draft7Validator(schema).validate(published)
    assert len(published["description"]) <= 100


def test_the_schema_would_find_a_fault(published: dict[str, Any]) -> None:
    schema = json.loads((TOP / "tests" / "data" / "server.schema.json").read_text())
    for fault in ({"description": "x" * 101}, {"name": "flower-mcp"}, {"version": None}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft7Validator(schema).validate({**published, **fault})


def test_name_and_versions_are_the_project_s(published: dict[str, Any], project: dict[str, Any]) -> None:
    (package,) = published["packages"]
    assert package["identifier"] == project["name"]
    assert {published["version"], package["version"], project["version"], __version__} == {__version__}
    assert published["websiteUrl"] == published["repository"]["url"] == WEBSITE
    assert published["name"].split("/")[0] == "io.github.flower-mcp"


def test_the_command_is_named_like_the_package(project: dict[str, Any]) -> None:
    assert project["scripts"][project["name"]] == "flower_mcp.server.main:main"
    assert callable(command.main)


def test_its_arguments_are_the_command_s(published: dict[str, Any]) -> None:
    (package,) = published["packages"]
    help_text = command._parser().format_help()
    for argument in package["packageArguments"]:
        assert argument["name"] in help_text
    for variable in package["environmentVariables"]:
        assert variable["name"] in help_text


def test_the_readme_claims_the_name_for_the_registry(published: dict[str, Any]) -> None:
    readme = (TOP / "README.md").read_text()
    assert re.search(rf"mcp-name: {re.escape(published['name'])}(\s|-->)", readme)
