"""The texts of the area below a run, and of its end, in English and in Chinese: a part of words.py's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "live turns": ("turns {turns}", "轮数 {turns}"),
    "live line": ("handoff at {at}", "{at} 换代"),
    "live lines": ("warns at {warn_at}, handoff at {at}", "{warn_at} 提醒,{at} 换代"),
    "live answers": ("the model answers", "模型在回答"),
    "live starts": ("a session starts", "会话在启动"),
    # states, where they are shorter than status has them
    "live writing": ("writing handoff", "在写交接"),
    "live draining": ("draining", "等子代理"),
    "live editing": ("edit window", "现在可以改"),
    "live more": ("(+{count})", "(+{count})"),
    "live until": ("until {time}, {left} left", "等到 {time},还有 {left}"),
    "live hold keys": ("h holds, e edits, Enter launches, q stops", "h 先等着,e 编辑,回车接手,q 停下"),
    "live hold keys short": ("h hold, e edit, Enter go, q stop", "h 等,e 编辑,回车接手,q 停"),
    "live go on keys": ("Enter launches, e edits, q stops", "回车接手,e 编辑,q 停下"),
    "live hold": ("to hold: {command}", "先等着:{command}"),
    "live go on": ("to go on: {command}", "放开:{command}"),
    "waits": ("{seconds} s", "{seconds} 秒"),
    "waits unsaved": ("waiting for your editor", "等你的编辑器存盘"),
    "waits mending": ("waiting until it is mended", "等文档改好"),
    "waits held": ("held", "按住"),
    # the end
    "its rewound document": ("    rewound   {why}", "    退回  {why}"),
    "its handed on document": ("    handed on {why}", "    转交  {why}"),
    "its degraded document": ("    degraded  {why}", "    降级  {why}"),
    "its edited sections": ("    edited    {sections}", "    改过  {sections}"),
    "say more": ("  more      {command}", "  再做  {command}"),
    "more task": ("TASK", "任务"),
}
