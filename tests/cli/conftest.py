"""The fixtures of the end-to-end tests: what the tests of the command line start reaches the scripted model alone."""

from __future__ import annotations

from tests.e2e.conftest import anyio_backend, environment, model, workspace

__all__ = ["anyio_backend", "environment", "model", "workspace"]
