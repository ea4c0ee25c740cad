"""The server with what the conformance suite looks up by name, over HTTP on a free port: for that suite alone.

The suite tests a protocol, not a product: it calls tools, resources and prompts of its own names, and passes by what is
not there. They are added to the very object that is served, so that its middleware, list and watcher are tested too.
Started as a program: `python -m tests.server.conformance FOLDER`; the address is its first line on stderr.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

from flower_mcp import Handoff, Workbench
from flower_mcp.server.app import build
from flower_mcp.server.http import serve

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
        "0000000d49444154789c636000000002000154a24f5d0000000049454e44ae426082"
    )
).decode()
SILENCE = base64.b64encode(
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80>\0\0\x02\0\x10\0data\x02\0\0\0\0\0"
).decode()
IMAGE = ImageContent(data=PIXEL, mime_type="image/png")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    """A resource within an answer."""
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


def test_simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


def test_image_content() -> list[ImageContent]:
    """An image."""
    return [IMAGE]


def test_audio_content() -> list[AudioContent]:
    """A sound."""
    return [AudioContent(data=SILENCE, mime_type="audio/wav")]


def test_embedded_resource() -> list[EmbeddedResource]:
    """A resource."""
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Three kinds of content."""
    value = json.dumps({"test": "data", "value": 123})
    return [
        TextContent(text="Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", value, "application/json"),
    ]


def test_error_handling() -> str:
    """An error."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Context[Any]) -> str:
    """Progress in three steps."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"Completed step {done} of 100")
        await anyio.sleep(0.05)  # the suite wants to see them one after the other
    return "done"


def test_x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """An argument that also travels in a header."""
    return region


def test_missing_capability(ctx: Context[Any]) -> str:
    """A tool for clients that can sample."""
    declared = ctx.client_capabilities
    if declared is None or declared.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling.", needed)
    return "ok"


async def test_trigger_tool_change(ctx: Context[Any]) -> str:
    """Say that the tools changed."""
    await ctx.notify_tools_changed()
    return "ok"


async def test_trigger_prompt_change(ctx: Context[Any]) -> str:
    """Say that the prompts changed."""
    await ctx.notify_prompts_changed()
    return "ok"


def simple() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


def with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def with_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  # the suite's name
    """A prompt that carries a resource."""
    return [
        UserMessage(embedded(resourceUri, "Embedded resource content for testing.")),
        UserMessage("Please process it."),
    ]


def with_image() -> list[UserMessage]:
    """A prompt that carries an image."""
    return [UserMessage(IMAGE), UserMessage("Please analyze the image above.")]


def static_text() -> str:
    """Text."""
    return "This is the content of the static text resource."


def static_binary() -> bytes:
    """Bytes."""
    return base64.b64decode(PIXEL)


def template(id: str) -> str:
    """JSON with what the address held."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_x_mcp_header,
    test_missing_capability,
    test_trigger_tool_change,
    test_trigger_prompt_change,
)
PROMPTS: dict[str, Callable[..., Any]] = {
    "test_simple_prompt": simple,
    "test_prompt_with_arguments": with_arguments,
    "test_prompt_with_embedded_resource": with_resource,
    "test_prompt_with_image": with_image,
}
for _tool in TOOLS:
    setattr(_tool, "__test__", False)  # noqa: B010  # the suite's names look like tests to pytest


def add_fixtures(server: MCPServer[Any]) -> None:
    """Add all of them."""
    for tool in TOOLS:
        server.add_tool(tool)
    for name, prompt in PROMPTS.items():
        server.add_prompt(Prompt.from_function(prompt, name=name))
    server.resource("test://static-text", name="static-text", mime_type="text/plain")(static_text)
    server.resource("test://static-binary", name="static-binary", mime_type="image/png")(static_binary)
    server.resource("test://watched-resource", name="watched")(static_text)
    server.resource("test://template/{id}/data", name="template", mime_type="application/json")(template)


def main() -> int:
    """Serve until a signal."""
    workbench = Workbench(Path(sys.argv[1]))
    workbench.freeze("work", Handoff(doing="a", next="b"))
    server = build(workbench)
    add_fixtures(server)
    return serve(server, 0)


if __name__ == "__main__":
    sys.exit(main())
