"""The texts of the command line, in English and in Chinese.

Texts only; it must not know events. Errors keep their English sentences (core/errors.py): they name options. What can
hurt: a placeholder that only one language has; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from flower_mcp.cli import words_doctor, words_live, words_steps, words_waits


class Language(StrEnum):
    """The languages that there are texts in."""

    ENGLISH = "en"
    CHINESE = "zh"


def language(environ: Mapping[str, str]) -> Language:
    """Chinese when FLOWER_LANG says so, or else the locale (LC_ALL, LC_MESSAGES, LANG: the first one that is set)."""
    names = ("FLOWER_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    chosen = next((environ[name] for name in names if environ.get(name)), "")
    return Language.CHINESE if chosen.lower().startswith("zh") else Language.ENGLISH


class Words:
    """Gives the texts in one language: `words("near", context="130.0K", window="200K", left="20K")`."""

    def __init__(self, language: Language = Language.ENGLISH) -> None:
        self.language = language

    def __call__(self, name: str, /, **values: object) -> str:
        """The text `name` with its placeholders filled. Raises KeyError for what there is not."""
        english, chinese = TEXTS[name]
        return (chinese if self.language is Language.CHINESE else english).format(**values)

    def counted(self, name: str, count: int) -> str:
        """So many of something that there is a text for: `words.counted("session", 1)` is "1 session"."""
        return self(f"1 {name}") if count == 1 else self(f"{name}s", count=count)


TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    # the first lines of a run
    "new": ("step {step}: new", "步骤 {step}:新开始"),
    "resumed": (
        "step {step}: resumed, session {n}{context}{wake}; --new starts afresh",
        "步骤 {step}:接着做,会话 {n}{context}{wake};--new 从头开始",
    ),
    "wake": (", wake {wake}", ",第 {wake} 次唤醒"),
    "resumed context": (", which reads {context} of context again", ",要重读上下文 {context}"),
    "from document": (
        "step {step}: resumed, session {n} takes over from the document{wake}",
        "步骤 {step}:接着做,会话 {n} 从交接文档接手{wake}",
    ),
    "model": ("model {model}, window {window} ({source}), {line}", "模型 {model},窗口 {window}({source}),{line}"),
    "default model": ("of Claude Code's choice", "由 Claude Code 决定"),
    "hands off": ("hands off at {at}", "到 {at} 换代"),
    "no handoff": ("no handoff: the CLI compacts as it likes", "不换代:由 CLI 自己压缩"),
    "earlier": ("; earlier is cheaper: --at {at}", ";早点换更便宜:--at {at}"),
    "source set": ("set", "自己设定"),
    "source learned": ("learned from an overflow", "从一次溢出得知"),
    "source learned from": ("learned from an overflow on {when}: {text}", "{when} 从一次溢出得知:{text}"),
    "source reported": ("reported by the CLI", "CLI 报告"),
    "source guessed": ("guessed from the name", "按名字猜的"),
    "line too high": (
        "; --at {at} is not below the window, so it does not count",
        ";--at {at} 不低于窗口,不作数",
    ),
    "permissions": ("permission mode {mode}: {meaning}", "权限模式 {mode}:{meaning}"),
    "asks nothing": ("nothing is asked, everything runs", "什么都不问,都可以跑"),
    "asks never": (
        "nothing is asked; what the settings do not allow is refused and listed at the end",
        "什么都不问;设置没有允许的会被拒绝,最后列出来",
    ),
    "asks you": ("you are asked here; no answer in 10 minutes means no", "会在这里问你;10 分钟不答就是不行"),
    "asks nobody": (
        "nobody is here to ask; what the settings do not allow is refused and listed at the end",
        "没有人可问;设置没有允许的会被拒绝,最后列出来",
    ),
    "limits": (
        "budget {budget}; document {document}; stop: Ctrl-C, go on: {go_on}",
        "预算 {budget};交接文档 {document};停:Ctrl-C,接着做:{go_on}",
    ),
    "no budget": ("none", "不限"),
    "by workspace": (".flower.toml of this workspace sets {names}", "这个工作区的 .flower.toml 设定了 {names}"),
    # -v
    "endpoint": ("endpoint  {endpoint}", "端点  {endpoint}"),
    "verbose model": ("model     {model}", "模型  {model}"),
    "verbose window": ("window    {window} ({source})", "窗口  {window}({source})"),
    "ask cli": ("{source}; the CLI is asked at connect", "{source};连接时会问 CLI"),
    "token": ("token     {token}", "令牌  {token}"),
    "no token": (
        "none in the environment; Claude Code may have a login or settings of its own",
        "环境变量里没有;Claude Code 可能有自己的登录或设置",
    ),
    # handoff
    "near": (
        "# context {context}/{window} · about {left} to the handoff",
        "# 上下文 {context}/{window} · 还有约 {left} 到换代",
    ),
    "writing": ("# context {context}/{window} —— writing the handoff", "# 上下文 {context}/{window} —— 写交接准备换代"),
    "doing": ("  - doing      {text}", "  - 现在在做  {text}"),
    "decided": ("  - decided    {text}", "  - 已定的事  {text}"),
    "deadends": ("  - dead ends  {text}", "  - 走不通的  {text}"),
    "next": ("  - next       {text}", "  - 下一步    {text}"),
    "written": ("<- handoff written to {path} · {cost} so far", "<- 交接写在 {path} · 到现在 {cost}"),
    "in memory": ("memory alone: there is no file", "内存里,没有文件"),
    "rewound": ("<- too full to write, so it wrote from earlier: {why}", "<- 上下文满了,退回之前写的交接({why})"),
    "handed on": (
        "<- it could do nothing, so it hands on what it was given: {why}",
        "<- 没能开工,原样交给下一个({why})",
    ),
    "degraded": ("<- degraded, the session could not write it: {why}", "<- 降级:交接没写成({why})"),
    "launched": (
        "<- a new session takes over, the context starts again from {context}",
        "<- 新会话接手,上下文从 {context} 重新开始",
    ),
    "edit": ("<- edit it now if you like, {seconds} s", "<- 现在可以改,{seconds} 秒"),
    "edited": ("<- edited by a person: {sections}", "<- 有人改过:{sections}"),
    "outside": ("outside the sections", "各段之外"),
    # the edit window
    "keys": (
        ": h holds, e edits, Enter launches, q stops",
        ":h 先等着,e 打开编辑器,回车马上接手,q 停下",
    ),
    "edit held": ("<- edit it now if you like", "<- 现在可以改"),
    "edited broken": ("! the document is broken, so the next session waits:", "! 文档坏了,下一个会话等着:"),
    "edited mend": ("  mend it, or launch it as it stands: {command}", "  改好它,或者就这样接手:{command}"),
    "held": (
        "<- held since {since} by {by}; to go on: {command}",
        "<- 从 {since} 起由 {by} 按住;放开:{command}",
    ),
    "released": ("<- released", "<- 放开了"),
    "released as is": ("<- launched as it stands", "<- 就这样接手"),
    "late": ("<- late edit of {section}: the session was told", "<- 接手后又改了 {section}:已告诉会话"),
    "too late": (
        "! late edit of {section}: the session has ended, nobody was told",
        "! 接手后又改了 {section}:会话已经结束,没有人被告知",
    ),
    "in line": ("line {line}", "第 {line} 行"),
    # flower hold, release, edit, show, history, diff
    "hold said": (
        "{step} is held: its next session waits until {command}",
        "{step} 按住了:下一个会话等到 {command}",
    ),
    "hold later": (" (it does not run now; the hold counts once it does)", "(现在没有在跑;跑起来以后算数)"),
    "held already": ("{step} is held already, since {since}, by {by}", "{step} 已经按住,从 {since} 起,由 {by}"),
    "was held": ("{step} was held since {since} by {by}", "{step} 从 {since} 起由 {by} 按住"),
    "release said": ("{step} is released: its next session may start", "{step} 放开了:下一个会话可以开始"),
    "release as is": (
        "{step}: the next session starts from the document as it stands",
        "{step}:下一个会话就从现在这份文档开始",
    ),
    "no document": ("The step {step!r} has no document.", "步骤 {step!r} 没有文档。"),
    "editor failed": ("{command} ended with exit code {code}", "{command} 退出码 {code}"),
    "not edited": ("{step}: nothing was changed", "{step}:没有改动"),
    "edited for the next": ("{step}: edited; the next session reads it", "{step}:改好了;下一个会话读它"),
    "edited late": (
        "{step}: edited; the session at work is told at its next message boundary",
        "{step}:改好了;在做事的会话到下一个消息边界会被告知",
    ),
    "broken": ("{step}: the document is broken:", "{step}:文档坏了:"),
    "mend": ("  mend it: {command}", "  改好它:{command}"),
    "mend waiting": (
        "  mend it: {command}; or launch it as it stands: {release}",
        "  改好它:{command};或者就这样接手:{release}",
    ),
    "by session": ("session {n}", "会话 {n}"),
    "by rewound": ("session {n}, rewound", "会话 {n},退回后写的"),
    "by predecessor": ("handed on by session {n}, which did nothing", "会话 {n} 没能开工,原样转交"),
    "by draft": ("session {n}, by tool", "会话 {n},用工具写的"),
    "by code": ("put together by code, after session {n}", "由程序拼成,在会话 {n} 之后"),
    "by a person": ("a person", "有人改"),
    "by a person in": ("a person: {sections}", "有人改:{sections}"),
    "by nobody known": ("not in the books", "账本里没有"),
    "version launched": ("launched", "由它接手"),
    "version now": ("the document now", "现在的文档"),
    # flower say, stop, handoff, and Ctrl-C
    "said": (
        "{step}: said; its session is told with its next request",
        "{step}:说了;会话下一次请求时会知道",
    ),
    "said to the next": (
        "{step}: said; a handoff is under way, the next session is told",
        "{step}:说了;正在换代,下一个会话会知道",
    ),
    "asked to stop": (
        "{step} ({who}): asked to stop; the tools that run may end first, 10 s at most",
        "{step}({who}):已请它停;等在跑的工具结束,最多 10 秒",
    ),
    "has stopped": ("{step}: {state}; to go on: {command}", "{step}:{state};接着做:{command}"),
    "not stopped yet": (
        "! {step} ({who}) has not stopped within {seconds:.0f} s; two Ctrl-C in its terminal end it now",
        "! {step}({who})过了 {seconds:.0f} 秒还没停;在它的终端按两次 Ctrl-C 马上停",
    ),
    "asked to hand off": (
        "{step}: asked for a handoff, at its session's next message boundary",
        "{step}:已请它换代,在会话的下一个消息边界",
    ),
    "hands off already": ("{step}: a handoff is under way already", "{step}:已经在换代"),
    "offer": (
        "say something and Enter; Enter alone goes on; q or Ctrl-C again stops: ",
        "要说什么就写下来回车;直接回车继续;q 或再按一次 Ctrl-C 停下:",
    ),
    "offer said": (
        "said; the session is told with its next request",
        "说了;会话下一次请求时会知道",
    ),
    "offer goes on": ("going on", "继续"),
    # flower trust
    "unknown document": (
        "! the document of {step} was not written on this machine: {path}",
        "! {step} 的交接文档不是在这台机器上写的:{path}",
    ),
    "unknown state": (
        "! what is known of {step} in {path} was not written on this machine",
        "! {path} 里关于 {step} 的记录不是在这台机器上写的",
    ),
    "brings": (
        "! the folder brings settings for Claude Code that you have not trusted:",
        "! 这个文件夹带来了你没有信任过的 Claude Code 设置:",
    ),
    "lines left": ("  … {count} more lines: {command}", "  … 还有 {count} 行:{command}"),
    "trust how": ("  use them? y yes, n go on without them: ", "  要用吗?y 用,n 不用,照常进行:"),
    "trusted document": (
        "{step} is trusted: the next session may start from its document",
        "{step} 已信任:下一个会话可以从它的文档接手",
    ),
    "trusted settings": (
        "the folder's settings for Claude Code are trusted",
        "这个文件夹的 Claude Code 设置已信任",
    ),
    "nothing to trust": (
        "nothing to trust: all that lies here is this machine's",
        "没有要信任的:这里的东西都是这台机器的",
    ),
    # notifications
    "not notified": ("! {command}: {why}; the run goes on", "! {command}:{why};照常进行"),
    "too long": ("took longer than {seconds} s and was ended", "超过 {seconds} 秒,已终止"),
    "exit code": ("ended with exit code {code}", "退出码 {code}"),
    # other events
    "context": ("  context {context}/{window}", "  上下文 {context}/{window}"),
    "window learned": (
        "# the window is {window}, learned from: {text}; the next session hands off at {at}",
        "# 窗口是 {window},从这句得知:{text};下一个会话到 {at} 换代",
    ),
    "window set refused": (
        "! the API has refused below the window of {window} that you set: {text}; use --window {use}",
        "! 接口在你设定的窗口 {window} 之下就拒绝了:{text};请用 --window {use}",
    ),
    "window exceeded": (
        "# the learned window of {old} was wrong, a request of {context} was accepted: it is {window} ({source})",
        "# 得知的窗口 {old} 不对,{context} 的请求也被接受了:现在是 {window}({source})",
    ),
    "window filled": (
        "# the learned window of {old} is dropped, a new session begins with {context}: it is {window} ({source})",
        "# 得知的窗口 {old} 不要了,新会话一开始就有 {context}:现在是 {window}({source})",
    ),
    "window assumed": (
        "# Claude Code does not know {model}: its window of {window} is an assumption; --window sets the right one",
        "# Claude Code 不认识 {model}:窗口 {window} 只是假定;用 --window 设定真正的窗口",
    ),
    "hand off earlier": (
        "! two documents in a row could not be written by a session, at {contexts} of {window}: --at {line} hands "
        "off earlier",
        "! 连着两份交接都没写成,在 {window} 里的 {contexts}:--at {line} 可以早点换",
    ),
    "refused": ("! {what}: refused, nobody is here to allow it", "! {what}:被拒绝,没有人在场允许"),
    "undecided": (
        "! a question was answered with: nobody is here, decide and note it",
        "! 有一个问题,回答是:没人在,自己定,记下来",
    ),
    "stopping": (
        "stopping: the tools that run may end first, 10 s at most; once more stops now",
        "正在停:等在跑的工具结束,最多 10 秒;再按一次马上停",
    ),
    "stopping now": ("stopping now", "马上停"),
    # questions
    "may": ("? {what}", "? {what}"),
    "may how": ("  allow it? y yes, n no, a always for {tool}: ", "  允许吗?y 可以,n 不行,a {tool} 都可以:"),
    "again": ("  please answer y, n or a: ", "  请答 y、n 或 a:"),
    "unanswered": ("  no answer: refused", "  没有回答:拒绝"),
    "unanswered question": ("  no answer: the model is told to decide", "  没有回答:让模型自己定"),
    "choose": ("  a number, or an answer of your own: ", "  选一个数字,或者自己写:"),
    "choose many": ("  numbers with commas, or an answer of your own: ", "  选数字,用逗号分开,或者自己写:"),
    "task": ("What is the task? ", "要做什么?"),
    # the end
    "done": ("done in {time}: {figures}", "做完了,用时 {time}:{figures}"),
    "failed": ("failed after {time}: {figures}", "失败,用时 {time}:{figures}"),
    "stopped": ("stopped after {time}: {figures}", "停下,用时 {time}:{figures}"),
    "figures": ("{sessions}, {turns}, {cost}", "{sessions},{turns},{cost}"),
    "1 session": ("1 session", "1 个会话"),
    "sessions": ("{count} sessions", "{count} 个会话"),
    "1 turn": ("1 turn", "1 轮"),
    "turns": ("{count} turns", "{count} 轮"),
    "why": ("  why       {why}", "  原因  {why}"),
    "generation": (
        "  session {n}  context {context}, {cost}, {id}",
        "  会话 {n}  上下文 {context},{cost},{id}",
    ),
    "its document": ("    document  {revision}", "    文档  {revision}"),
    "its edited document": ("    document  {revision}, edited by a person", "    文档  {revision},有人改过"),
    "unknown cost": ("cost unknown", "费用未知"),
    "document": ("  document  {path}", "  文档  {path}"),
    "denied": ("  refused   {what}", "  被拒  {what}"),
    "denied edits": (
        "            to allow it: --permission-mode acceptEdits for edits, or a rule in Claude Code's settings",
        "        要允许:改文件用 --permission-mode acceptEdits,别的在 Claude Code 的设置里加规则",
    ),
    "denied rule": (
        "            to allow it: an `allow` rule in Claude Code's settings",
        "        要允许:在 Claude Code 的设置里加 allow 规则",
    ),
    "ended": ("  ended     process {what}", "  结束了进程  {what}"),
    "manifest": ("  books     {path}", "  账本  {path}"),
    "go on": ("  go on     {command}", "  接着做  {command}"),
    # the demo
    "person edits": (
        "<- a scripted person adds a line under Next, as you could now",
        "<- 演示里的人在「下一步」下面加了一行,你现在也可以改",
    ),
    "removed": (
        "the folder is removed; flower demo --keep DIR keeps it",
        "文件夹已删除;要留着:flower demo --keep DIR",
    ),
    "kept": ("the folder is kept: {folder}", "文件夹留着:{folder}"),
    **words_steps.TEXTS,
    **words_doctor.TEXTS,
    **words_waits.TEXTS,
    **words_live.TEXTS,
}
