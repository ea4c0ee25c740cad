"""From an agent's spec to what the SDK and the CLI are given. No session is started here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import CanUseTool, ClaudeAgentOptions

from flower_mcp.core.masking import mask
from flower_mcp.core.policy import AgentSpec, CompactPolicy, HandoffPolicy
from flower_mcp.core.texts import load
from flower_mcp.runtime.gate import Gate
from flower_mcp.runtime.keeping import Keeper

TIMERS = ("ScheduleWakeup", "CronCreate", "CronDelete", "CronList")  # a turn that waits for a clock never hands over
BUFFER = 64 * 2**20  # bytes of one message; the SDK's 1 MiB loses sessions on a large Write
NO_BLOCK = "10000000"  # tokens; lifts the CLI's own refusal at window - 23,000, which would hit the handoff turn

# What a person said about traffic holds for the sessions that we start, too.
COMPACTION = ("DISABLE_AUTO_COMPACT", "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE")
PRIVACY = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
    "IS_SANDBOX",
)


def compact_of(spec: AgentSpec, policy: HandoffPolicy) -> CompactPolicy:
    """Auto-compact is off while handoff is on and the spec says nothing; a spec's own word is respected."""
    if spec.compact is not None:
        return spec.compact
    return CompactPolicy("no_summary" if policy.enabled else "auto")


def session_environment(
    spec: AgentSpec, policy: HandoffPolicy, *, run: str, environ: Mapping[str, str]
) -> dict[str, str]:
    """The variables that we set for the CLI, beside the inherited ones that the keeper lets through."""
    ours = {
        **{name: environ[name] for name in PRIVACY if name in environ},
        "FLOWER_RUN": run,
        "FLOWER_STEP": spec.name,
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",  # the supervisor retries too; the two would multiply
    }
    if compact_of(spec, policy).mode == "no_summary":
        ours["DISABLE_AUTO_COMPACT"] = "1"
        ours["CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE"] = NO_BLOCK
    if policy.window_given:
        ours["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] = str(policy.window)
    return {**ours, **spec.env}


def firm_settings(environment: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Settings above those of the workspace, as JSON: a cloned repository must not choose the endpoint, nor turn on
    compaction behind the handoff. Nothing secret may stand here: it is seen in the list of processes, so an address
    that holds a password is left out, and only settings that a person trusts could replace it.
    """
    firm = {name: environment[name] for name in COMPACTION if name in environment}
    address = environ.get("ANTHROPIC_BASE_URL")
    if address is not None and not mask(address).count:
        firm["ANTHROPIC_BASE_URL"] = address
    return json.dumps({"env": firm})


@dataclass(frozen=True, slots=True)
class Opening:
    """How a session's process is started: a new id, an old one resumed, or a fork of another at a line of its history.

    `at` is the uuid of the last line that a fork of `fork_of` keeps. A fork leaves no transcript.
    """

    session_id: str
    resume: bool = False
    budget_usd: float | None = None
    fork_of: str = ""
    at: str = ""

    @property
    def identity(self) -> dict[str, Any]:
        """What the SDK is told about whose session it is."""
        if self.fork_of:
            fork = {"resume": self.fork_of, "fork_session": True, "resume_session_at": self.at}
            return {**fork, "session_id": self.session_id, "extra_args": {"no-session-persistence": None}}
        return {"resume": self.session_id} if self.resume else {"session_id": self.session_id}


def options_for(
    spec: AgentSpec,
    opening: Opening,
    *,
    workspace: Path,
    add_dirs: Sequence[Path] = (),
    keeper: Keeper,
    gate: Gate,
    can_use_tool: CanUseTool,
    mcp_server: Any | None,
    settings: str,
    stderr: Callable[[str], None],
) -> ClaudeAgentOptions:
    """The SDK's options for one session."""
    servers: dict[str, Any] = dict(spec.mcp_servers)
    if mcp_server is not None:
        servers["flower"] = {"type": "sdk", "name": "flower", "instance": mcp_server, "alwaysLoad": True}
    instructions = "\n\n".join(part for part in (load("session").strip(), spec.instructions.strip()) if part)
    return ClaudeAgentOptions(
        **opening.identity,
        system_prompt={"type": "preset", "preset": "claude_code", "append": instructions},
        allowed_tools=[*spec.allowed_tools, *(("mcp__flower",) if mcp_server is not None else ())],
        disallowed_tools=[*spec.disallowed_tools, *TIMERS],
        mcp_servers=servers,
        agents=dict(spec.agents) or None,
        permission_mode=cast(Any, spec.permission_mode),
        can_use_tool=can_use_tool,
        hooks=gate.hooks(),
        model=spec.model,
        effort=cast(Any, spec.effort),
        max_budget_usd=opening.budget_usd,
        cwd=workspace,
        add_dirs=list(add_dirs),
        cli_path=keeper.launcher,
        env=dict(keeper.env),
        settings=settings,
        setting_sources=cast(Any, list(spec.setting_sources)),
        include_partial_messages=True,
        verbatim_prompts=True,
        max_buffer_size=BUFFER,
        stderr=stderr,
    )
