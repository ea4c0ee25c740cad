"""The texts of `flower status`, `list` and `clean`, in English and in Chinese: a part of words.py's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "state idle": ("idle", "空闲"),
    "state working": ("working", "在做"),
    "state draining": ("waiting for its agents", "等子代理"),
    "state writing": ("writing its handoff", "在写交接"),
    "state editing": ("its document can be edited now", "文档现在可以改"),
    "state held": ("held", "按住"),
    "state launching": ("launching", "在启动"),
    "state waiting": ("waiting", "在等"),
    "state done": ("done", "做完"),
    "state failed": ("failed", "没做成"),
    "state stopped": ("stopped", "停了"),
    "state lost": ("lost: nobody runs it any more", "丢了:没有人在跑它"),
    "status generation": ("session {n}", "会话 {n}"),
    "status context": ("context", "上下文"),
    "status cost": ("cost", "花费"),
    "status figures": ("{cost}, {turns}", "{cost},{turns}"),
    "status document": ("document", "文档"),
    "status no document": ("none yet", "还没有"),
    "status complete": ("complete", "完整"),
    "status missing": ("without {missing}", "缺 {missing}"),
    "status degraded": ("degraded", "降级"),
    "status edited": ("edited by a person", "有人改过"),
    "status session": ("session", "会话"),
    "status run": ("run by", "由谁跑"),
    "status run by": ("pid {pid} on {host}, since {since}", "{host} 上的 pid {pid},从 {since} 起"),
    "status held": ("held", "按住"),
    "status held since": ("since {since}; to go on: {command}", "从 {since} 起;放开:{command}"),
    "status waits": ("waits", "在等"),
    "status waits until": ("until {until}", "等到 {until}"),
    "status why": ("why", "原因"),
    "chart drawn": ("{path}: {count} measurements, {sessions} sessions", "{path}:{count} 次测量,{sessions} 个会话"),
    "chart title": ("context of {step}", "{step} 的上下文"),
    "chart tokens": ("tokens (K)", "token 数(K)"),
    "chart session": ("session {n}", "会话 {n}"),
    "chart window": ("window", "窗口"),
    "chart line": ("handoff line", "换代线"),
    "chart warns": ("warning", "预警线"),
    "chart handoff": ("handoff", "交接"),
    "chart degraded": ("degraded handoff", "降级的交接"),
    "clean nothing": (
        "nothing to remove: no version but the newest {keep} of each step was replaced over {days} days ago",
        "没有要删的:除了每个步骤最新的 {keep} 份,没有 {days} 天以前换下的版本",
    ),
    "clean would": ("{count} old versions, {size}, would be removed", "会删掉 {count} 份旧版本,{size}"),
    "clean ask": (
        "Remove {count} old versions, {size}? They cannot be had again",
        "删掉 {count} 份旧版本,{size}?删了就没有了",
    ),
    "clean kept": ("nothing was removed", "什么也没删"),
    "clean done": ("{count} old versions removed, {size}", "删掉了 {count} 份旧版本,{size}"),
}
