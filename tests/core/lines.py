"""Lines of a transcript in the shapes that the CLI writes (2.1.332), cut to what is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

Line = dict[str, Any]
_numbers = count(1)


def said(text: str, **more: Any) -> Line:
    """A text of the main thread."""
    return _assistant([{"type": "text", "text": text}], **more)


def prompt(text: str, **more: Any) -> Line:
    """A prompt."""
    return {"type": "user", "uuid": _uuid(), "message": {"role": "user", "content": text}, **more}


def called(tool: str, answer: object = "", *, failed: bool = False, result: object = None, **given: Any) -> list[Line]:
    """A tool call and its result; `result` is the CLI's own record of it."""
    key, uuid = f"toolu_{next(_numbers)}", _uuid()
    call = _assistant([{"type": "tool_use", "id": key, "name": tool, "input": given}], uuid=uuid)
    block = {"type": "tool_result", "tool_use_id": key, "content": answer, "is_error": failed}
    ended = {
        "type": "user", "uuid": _uuid(), "parentUuid": uuid, "sourceToolAssistantUUID": uuid,
        "timestamp": "2026-11-29T16:05:12.123Z", "toolUseResult": result,
        "message": {"role": "user", "content": [block]},
    }  # fmt: skip
    return [call, ended]


def ran(command: str, answer: str = "", *, code: int = 0) -> list[Line]:
    """A command, which ended with an exit code."""
    words = f"Exit code {code}\n{answer}".rstrip("\n") if code else answer
    return called("Bash", words, failed=code != 0, command=command)


def edited(path: str, old: str, new: str, *, of: str | None = None) -> list[Line]:
    """An edit that went well; `of` is the file's text before."""
    record = {"filePath": path, "oldString": old, "newString": new, "originalFile": of, "replaceAll": False}
    return called("Edit", f"{path} was updated", result=record, file_path=path, old_string=old, new_string=new)


def wrote(path: str, text: str, *, of: str | None = None) -> list[Line]:
    """A file written as a whole; `of` None: it was not there."""
    record = {"type": "create" if of is None else "update", "originalFile": of, "content": text}
    return called("Write", f"{path} was written", result=record, file_path=path, content=text)


def shell(task: str, command: str, description: str = "a shell") -> list[Line]:
    """A shell in the background."""
    answer = f"Command running in background with ID: {task}. Output is being written to: /tasks/{task}.output. You"
    return called("Bash", answer, result={"backgroundTaskId": task}, command=command, description=description)


def agent(task: str, description: str) -> list[Line]:
    """An agent in the background."""
    record = {"isAsync": True, "agentId": task, "outputFile": f"/tasks/{task}.output"}
    answer = [{"type": "text", "text": f"Async agent launched successfully.\nagentId: {task} (internal)"}]
    return called("Agent", answer, result=record, description=description, prompt="look")


def notified(task: str, status: str = "completed", summary: str = "") -> Line:
    """The CLI's notice that a task has ended."""
    words = f"<task-notification>\n<task-id>{task}</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>"
    return {"type": "queue-operation", "operation": "enqueue", "content": words}


def error(text: str) -> Line:
    """An error that the CLI wrote as if it were a message."""
    line = said(text, isApiErrorMessage=True)
    line["message"]["model"] = "<synthetic>"
    return line


def linked(lines: Sequence[Line]) -> list[Line]:
    """The lines with each hanging on the one before, but for results, which hang on their calls."""
    before = None
    for line in lines:
        if "uuid" in line:
            line.setdefault("parentUuid", before)
            before = line["uuid"]
    return list(lines)


def _assistant(content: list[Line], **more: Any) -> Line:
    message = {"id": f"msg_{next(_numbers)}", "role": "assistant", "model": "claude-sonnet-4-5", "content": content}
    return {"type": "assistant", "uuid": _uuid(), "isSidechain": False, "message": message, **more}


def _uuid() -> str:
    return f"uuid-{next(_numbers)}"
