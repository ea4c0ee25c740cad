"""The documents as resources: listed one by one, with templates and completion.

It knows the workbench and MCP's shapes. What can hurt: a document may vanish between list and read; then it is an
unknown resource, not a failure. A client shows the list to a person, so a workbench of a thousand steps is cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.types import Annotations, Resource

from flower_mcp.core.errors import FlowerError, NothingThere
from flower_mcp.server import reading, status
from flower_mcp.server.generations import past, with_document
from flower_mcp.server.service import Service
from flower_mcp.server.uris import DOCUMENT, GENERATION, STATUS, document_uri, generation_uri

LISTED = 200  # steps, the latest first
WITH_GENERATIONS = 20  # steps whose earlier documents are listed, too
_MARKDOWN = "text/markdown"
# A step's name is made safe by the workbench's own function, so it may hold what a path must not.
_ANY_NAME = ResourceSecurity(exempt_params={"step"})


class Resources:
    """The resources of one server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def register(self, server: MCPServer[Any]) -> None:
        """Add the overview and the templates to a server."""
        server.resource(
            STATUS,
            name="status",
            title="All steps",
            description="What each step is doing",
            mime_type="application/json",
        )(self.status)
        server.resource(
            DOCUMENT,
            name="document",
            title="Handoff document",
            description="A step's current handoff document",
            mime_type=_MARKDOWN,
            security=_ANY_NAME,
        )(self.document)
        server.resource(
            GENERATION,
            name="generation",
            title="An earlier handoff document",
            description="What the session after this generation was given",
            mime_type=_MARKDOWN,
            security=_ANY_NAME,
        )(self.generation)

    def listed(self) -> list[Resource]:
        """The documents that there are, the latest step first. Empty when there is no workbench to serve."""
        try:
            known = self._service.steps.all()
        except FlowerError:
            return []
        found: list[Resource] = []
        for place, each in enumerate(known[:LISTED]):
            with suppress(FlowerError):
                found += self._of(each.step, with_earlier=place < WITH_GENERATIONS)
        return found

    def status(self) -> str:
        """What every step is doing, as JSON."""
        with _told():
            value, _ = status.overview(self._service.steps, None)
            return json.dumps(value, ensure_ascii=False, default=str)

    def document(self, step: str) -> str:
        """A step's current document, whole."""
        with _told():
            document = reading.current(self._service, step)
            return self._marked(step, document.revision, document.path, document.text)

    def generation(self, step: str, generation: str) -> str:
        """The document of one generation, whole."""
        with _told():
            live = self._service.steps.live(step)
            if live is None or not generation.isascii() or not generation.isdigit() or len(generation) > 9:
                raise NothingThere(
                    f"There is no generation {generation[:60]!r} of step {step[:60]!r}.",
                    next="handoff_status lists them.",
                )
            found = past(self._service.workbench, live, int(generation))
            return self._marked(live.step, found.revision, found.path, found.text)

    def steps(self, beginning: str) -> list[str]:
        """The steps whose name begins so, the latest first."""
        with suppress(FlowerError):
            return [known.step for known in self._service.steps.all() if known.step.startswith(beginning)]
        return []

    def generations(self, step: str, beginning: str) -> list[str]:
        """The numbers of a step's generations that left a document."""
        with suppress(FlowerError):
            live = self._service.steps.live(step)
            numbers = [] if live is None else [str(each.n) for each in with_document(live)]
            return [number for number in numbers if number.startswith(beginning)]
        return []

    def _marked(self, step: str, revision: str, path: Path, text: str) -> str:
        """The text, below its mark when it was not written on this machine."""
        mark = reading.stranger(self._service, step, revision, path)
        return f"{mark}\n\n{text}" if mark else text

    def _of(self, step: str, *, with_earlier: bool) -> Iterator[Resource]:
        """The resources of one step."""
        with suppress(OSError):
            size = self._service.workbench.documents.path(step).stat().st_size
            yield Resource(
                uri=document_uri(step),
                name=step,
                title=f"Handoff of {step}",
                mime_type=_MARKDOWN,
                size=size,
                annotations=Annotations(audience=["user", "assistant"], priority=1.0),
            )
        live = self._service.workbench.live(step) if with_earlier else None
        for generation in () if live is None else with_document(live):
            yield Resource(
                uri=generation_uri(step, generation.n),
                name=f"{step} {generation.n}",
                title=f"Handoff of {step}, generation {generation.n}",
                mime_type=_MARKDOWN,
                annotations=Annotations(audience=["user", "assistant"], priority=0.3),
            )


@contextmanager
def _told() -> Iterator[None]:
    """Turn an error of ours into one of the SDK's, whose text the client sees."""
    try:
        yield
    except NothingThere as error:
        raise ResourceNotFoundError(str(error)) from error
    except (FlowerError, OSError) as error:
        raise ResourceError(str(error)) from error
