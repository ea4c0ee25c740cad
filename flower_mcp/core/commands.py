"""The commands that sentences tell a person to type: with the step and the folder they need, quoted for a shell.

Text in, text out. What can hurt: a command that names no step fails where there are several, one without its folder
looks at another folder, and a name with a space is two words.
"""

from __future__ import annotations

import shlex

HERE = "."  # the workspace of a command that names none


def command_line(name: str, step: str = "", *options: str, workspace: str = "") -> str:
    """The command line of `flower NAME`. "" leaves a part out; a workspace that is here is left out, too.

    >>> command_line("release", "my docs", "--as-is", workspace="../site")
    "flower release 'my docs' --as-is -w ../site"
    """
    folder = () if workspace in ("", HERE) else ("-w", workspace)
    named = (step,) if step else ()
    if step.startswith("-"):  # else it would be read as an option
        return shlex.join(["flower", name, *options, *folder, "--", step])
    return shlex.join(["flower", name, *named, *options, *folder])
