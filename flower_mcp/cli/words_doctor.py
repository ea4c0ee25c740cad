"""The texts of `flower doctor`, in English and in Chinese: a part of words.py's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "doctor ok": ("ok  {text}", "ok  {text}"),
    "doctor wrong": ("!   {text}", "!   {text}"),
    "doctor do": ("    {text}", "    {text}"),
    "doctor well": ("all is well", "一切正常"),
    "doctor ill": ("to be mended: {count} (marked with !)", "要处理的:{count} 处(标着 !)"),
    "doctor slow": ("{name}: no answer within {seconds} seconds, given up", "{name}:{seconds} 秒没有结果,不等了"),
    "doctor slow do": ("try again; a disk or a network hangs if it stays so", "再试一次;还这样就是磁盘或网络卡住了"),
    "doctor broke": ("{name} could not be looked at: {why}", "{name} 没能检查:{why}"),
    "doctor broke do": ("please report it, with this line", "请连同这一行报告给我们"),
    # Python and the parts
    "doctor python": (
        "Python {version}, {bits}-bit, file names in {encoding}",
        "Python {version},{bits} 位,文件名用 {encoding}",
    ),
    "doctor python new": ("install a 64-bit Python {oldest} or newer", "装 64 位的 Python {oldest} 或更新的"),
    "doctor utf": ("documents have Chinese names; type: {command}", "文档的文件名是中文;输入:{command}"),
    "doctor base lacks": ("this install lacks {names}", "这个安装缺 {names}"),
    "doctor install": ("install it again: {command}", "重装:{command}"),
    "doctor parts": ("installed: {parts}", "已装:{parts}"),
    "doctor no run": ("flower-mcp works; for the supervisor: {command}", "flower-mcp 能用;要跑监督程序:{command}"),
    "doctor no chart": ("for charts: {command}", "要画图:{command}"),
    "doctor windows": (
        "on native Windows flower-mcp works, `flower run` needs WSL",
        "Windows 上 flower-mcp 能用,`flower run` 要在 WSL 里",
    ),
    # Claude Code, its credentials, its endpoint
    "doctor cli": ("Claude Code {version}, {path}", "Claude Code {version},{path}"),
    "doctor no cli": ("the Claude Code CLI was not found", "没找到 Claude Code CLI"),
    "doctor cli silent": (
        "{path} does not tell its version within {seconds} seconds",
        "{path} 在 {seconds} 秒内没说出版本",
    ),
    "doctor cli try": ("look at what it says: {command}", "看它说什么:{command}"),
    "doctor by cli": ("by the CLI's word", "CLI 说的"),
    "doctor by variables": ("by the variables alone", "只看了环境变量"),
    "doctor credentials": ("credentials: {kind} ({by})", "凭据:{kind}({by})"),
    "doctor no credentials": ("no credentials ({by})", "没有凭据({by})"),
    "doctor kind api key": ("API key", "API key"),
    "doctor kind auth token": ("auth token", "auth token"),
    "doctor kind key helper": ("a helper that gives the key", "取 key 的程序"),
    "doctor kind login": ("a subscription's login", "订阅登录"),
    "doctor kind provider": ("cloud provider {name}", "云服务商 {name}"),
    "doctor reachable": ("{place} can be reached{way}", "{place} 连得上{way}"),
    "doctor through": (", through the proxy {proxy}", ",经代理 {proxy}"),
    "doctor unreachable": ("{place} cannot be reached{way}: {why}", "{place} 连不上{way}:{why}"),
    "doctor network": (
        "look at the network, a firewall, and ANTHROPIC_BASE_URL",
        "看看网络、防火墙和 ANTHROPIC_BASE_URL",
    ),
    "doctor network proxy": (
        "look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
        "看看 HTTPS_PROXY、HTTP_PROXY 和 NO_PROXY",
    ),
    "doctor proxy bad": ("{name} is no address", "{name} 不是地址"),
    "doctor proxy set": (
        "give name and port: http://HOST:PORT, with USER:PASSWORD@ before HOST if need be, percent-encoded",
        "写明主机和端口:http://HOST:PORT,要登录就在 HOST 前加 USER:PASSWORD@,特殊字符用百分号编码",
    ),
    "doctor endpoint provider": ("endpoint {endpoint}: not tried", "端点 {endpoint}:没有试"),
    "doctor endpoint bad": ("ANTHROPIC_BASE_URL is no address", "ANTHROPIC_BASE_URL 不是地址"),
    "doctor endpoint set": (
        "set it like this: ANTHROPIC_BASE_URL=https://gateway.example",
        "这样写:ANTHROPIC_BASE_URL=https://gateway.example",
    ),
    # the window
    "doctor window": ("window {window} ({source}), {line}", "窗口 {window}({source}),{line}"),
    "doctor reported": (
        "{source}; in the last run of {step} it reported {window}",
        "{source};{step} 上一次运行时它报告的是 {window}",
    ),
    "doctor earlier": (
        "every request there is dear, and documents written that late have come out empty; for long tasks type: "
        "flower --at {at}",
        "到那里每个请求都很贵,那么晚写的交接有过空的;长的任务请用:flower --at {at}",
    ),
    "doctor learned none": ("no window was learned from an overflow", "没有从溢出得知的窗口"),
    "doctor learned": (
        "{window} for {model} at {endpoint}, learned on {when}: {text}",
        "{endpoint} 的 {model}:{window},{when} 得知:{text}",
    ),
    "doctor forget": ("to remove it: {command}", "要删掉它:{command}"),
    "doctor forget all": (
        "begin a new one, this one is kept aside: flower doctor --forget",
        "另起一个,这个留在旁边:flower doctor --forget",
    ),
    "doctor forgotten": ("removed: {window} for {model} at {endpoint}", "删掉了:{endpoint} 的 {model},{window}"),
    "doctor forgotten none": ("nothing was learned, so nothing was removed", "没有得知过什么,没有可删的"),
    # the folder
    "doctor workspace": ("workspace {path}, on {kind}", "工作目录 {path},在 {kind} 上"),
    "doctor mount unknown": ("a disk of unknown kind", "不知种类的磁盘"),
    "doctor no workspace": ("the workspace {path} is no folder", "工作目录 {path} 不是文件夹"),
    "doctor name workspace": (
        "make it, or name another one: flower doctor --workspace DIR",
        "建一个,或换一个:flower doctor --workspace DIR",
    ),
    "doctor workspace closed": ("the workspace {path} may not be written", "工作目录 {path} 不能写"),
    "doctor may write": ("give yourself the right: {command}", "给自己权限:{command}"),
    "doctor watcher": ("changes are reported here at once", "这里的改动会马上报告"),
    "doctor polls": (
        "{kind} reports no changes: flower looks by itself, an edit is seen a little later",
        "{kind} 不报告改动:flower 自己去看,晚一点看到",
    ),
    "doctor watcher fails": ("changes cannot be watched: {why}", "改动没法监视:{why}"),
    "doctor watches": (
        "edits are still seen, a little later; on Linux raise fs.inotify.max_user_watches and max_user_instances",
        "改动仍会看到,晚一点;Linux 上调大 fs.inotify.max_user_watches 和 max_user_instances",
    ),
    "doctor watcher silent": (
        "a change was not reported within {seconds} seconds (on {kind})",
        "改动 {seconds} 秒内没有报告(在 {kind} 上)",
    ),
    "doctor watcher do": (
        "edits are still seen, a little later; work on a local disk to have them at once",
        "改动仍会看到,晚一点;想马上看到就用本地磁盘",
    ),
    "doctor locks": ("locks hold here", "锁在这里有效"),
    "doctor no locks": (
        "locks do not hold on {kind}: two runs of a step could meet",
        "锁在 {kind} 上无效:同一步骤可能被跑两次",
    ),
    "doctor no locks do": ("work on another disk: flower --workspace DIR", "换一个磁盘:flower --workspace DIR"),
    "doctor held": ("step {step} runs ({by})", "步骤 {step} 在跑({by})"),
    "doctor somebody": ("by whom is not known", "不知道是谁"),
    # the workbench
    "doctor no workbench": ("no {folder} here yet: the first run makes it", "这里还没有 {folder}:第一次运行会建"),
    "doctor workbench": ("workbench {path}, steps: {count}", "工作台 {path},步骤 {count} 个"),
    "doctor document": (
        "the document of step {step} cannot be taken over: {what}",
        "步骤 {step} 的文档没法接手:{what}",
    ),
    "doctor document do": ("mend it: {command}", "改好它:{command}"),
    "doctor live": ("{path} cannot be read and counts for nothing: {why}", "{path} 读不出来,不算数:{why}"),
    "doctor live do": (
        "the next run of the step sets it aside; or move it away yourself",
        "下次跑这个步骤时会放到一边;也可以自己移走",
    ),
    "doctor aside": (
        "live states that could not be read were set aside ({count}): {names}",
        "读不出来的状态放到了一边({count} 个):{names}",
    ),
    "doctor aside do": ("nothing needs them; remove them when you have looked", "没有东西要用它们;看过就可以删"),
    "doctor events": ("{path}: {size}", "{path}:{size}"),
    "doctor events do": (
        "remove it when no step runs: only `flower chart` and `flower status` read it",
        "没有步骤在跑时可以删:只有 `flower chart` 和 `flower status` 用它",
    ),
    "doctor archive": ("archive: {count} versions, {size}", "存档:{count} 份,{size}"),
    "doctor clean": (
        "{count} of them were replaced over {days} days ago; to remove them: {command}",
        "其中 {count} 份是 {days} 天以前换下的;要删:{command}",
    ),
    "doctor links": ("links lead out of the workbench: {names}", "有链接指到工作台外面:{names}"),
    "doctor links do": ("remove them: links are not followed", "删掉它们:链接不会跟着走"),
    "doctor owner": ("files of another user are in the workbench: {names}", "工作台里有别的用户的文件:{names}"),
    "doctor owner do": ("take them over: {command}", "拿过来:{command}"),
    "doctor rights": (
        "others may read {count} files of the workbench: {names}",
        "别人能读工作台的 {count} 个文件:{names}",
    ),
    "doctor rights do": ("take that right away: {command}", "去掉这个权限:{command}"),
    "doctor strange": (
        "step {step} was not written on this machine: no session starts from it",
        "步骤 {step} 不是在这台机器上写的:不会从它开始",
    ),
    "doctor brought": (
        "settings for Claude Code came with the folder and are left out: {names}",
        "这个文件夹带来了 Claude Code 的设置,没有用:{names}",
    ),
    "doctor trust do": ("look at it, and to use it type: {command}", "看一看,要用就输入:{command}"),
    # the books, the config files, the state folder
    "doctor books": ("books {path}, runs: {count}", "账本 {path},运行 {count} 次"),
    "doctor no books": ("books {path}: none yet, the first run makes them", "账本 {path}:还没有,第一次运行会建"),
    "doctor books closed": ("the books in {path} cannot be kept: {why}", "{path} 里没法记账:{why}"),
    "doctor name books": ("name another folder: flower --run-dir DIR", "换一个文件夹:flower --run-dir DIR"),
    "doctor book": ("{path} cannot be read: {why}", "{path} 读不出来:{why}"),
    "doctor book do": (
        "the next run keeps it aside and begins a new one; mend it before, if it matters",
        "下次运行会把它留在旁边,另起一个;要紧就先修好",
    ),
    "doctor config": ("config file {path}", "配置文件 {path}"),
    "doctor no config": ("no config file ({path})", "没有配置文件({path})"),
    "doctor state": ("state folder {path} can be written", "状态文件夹 {path} 能写"),
    "doctor state closed": ("the state folder {path} cannot be written: {why}", "状态文件夹 {path} 不能写:{why}"),
    "doctor name state": ("name another one: export FLOWER_STATE_DIR=DIR", "换一个:export FLOWER_STATE_DIR=DIR"),
    "doctor no home": ("this user has no home folder, so nothing is remembered", "这个用户没有家目录,什么也记不住"),
    "doctor no home do": ("name a folder: export FLOWER_STATE_DIR=DIR", "指定一个文件夹:export FLOWER_STATE_DIR=DIR"),
    "doctor known": ("{path} counts for nothing: {why}", "{path} 不算数:{why}"),
    "doctor known do": (
        "move it away; documents written here have to be trusted again: flower trust STEP",
        "移走它;这里写的文档要重新信任:flower trust 步骤",
    ),
    "doctor unwritten": (
        "texts that found no place on the disk are in {path} ({count}): {names}",
        "写不下的文字在 {path}({count} 份):{names}",
    ),
    "doctor unwritten do": ("copy what you need to where it belongs, then remove them", "把要的抄到该放的地方,再删掉"),
    # clients
    "doctor client": ("{client}: {command} starts, tools: {count}", "{client}:{command} 能启动,工具 {count} 个"),
    "doctor no client": (
        "no client on this machine has an entry for flower-mcp",
        "这台机器上没有客户端配了 flower-mcp",
    ),
    "doctor client add": ("to add one: {command}", "要加:{command}"),
    "doctor client file": ("{client}: {path} cannot be read: {why}", "{client}:{path} 读不出来:{why}"),
    "doctor client mend": ("mend the file: it is JSON", "改好这个文件:它是 JSON"),
    "doctor client url": ("{client}: an entry with a URL, not tried", "{client}:配的是 URL,没有试"),
    "doctor client missing": ("{client}: the program {command} is not there", "{client}:没有程序 {command}"),
    "doctor client again": ("an entry for this install: {command}", "这个安装的配置:{command}"),
    "doctor client fails": (
        "{client}: {command} does not answer as a server: {why}",
        "{client}:{command} 没有像服务器那样回答:{why}",
    ),
    "doctor client strange": (
        "{client}: {command} was not started, the folder is not trusted",
        "{client}:{command} 没有启动,这个文件夹不受信任",
    ),
    "doctor client full": (
        "name the program in full, {command}: a desktop may not find it",
        "写全路径 {command}:桌面程序可能找不到它",
    ),
}
