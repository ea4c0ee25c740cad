"""The names of the five sections, as people and models really write them.

One table: which names stand for which section, and how sure that is. It must not know markdown or documents; the
cutting of a heading down to a name is in `names.py`. What can hurt: a wide name ("Status") taken too early steals a
section from a sure one, which is what the tiers are for; a name matched by a part ("Open decisions") says the
opposite of what it is, which is why names are compared whole and the open ones are listed. The names and their tiers
were counted in 85 public handoff documents.

How to read a row: names are separated by ";". "(x)" may be missing, "(x|y)" is one of them or nothing, "{x|y}" is one
of them. "…" before or behind a name stands for any words. Everything is compared in lower case, without apostrophes,
hyphens as spaces, traditional characters as simplified ones (`lookup.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

FIELDS = ("doing", "decided", "deadends", "next", "scene")
"""The five sections in the order in which a document has them."""

OUR_HEADINGS = {
    "doing": "现在在做 · Doing now",
    "decided": "已定的事 · Decided",
    "deadends": "走不通的 · Dead ends",
    "next": "下一步 · Next",
    "scene": "现场 · Scene",
}
"""The bilingual headings that we write ourselves."""


class Tier(IntEnum):
    """How sure a name is.

    SURE: always. LOCAL: as sure, but only at the sections' own level. A, B, C: only for a section that has nothing
    better, A before B before C. OPEN: looks like a section and is none.
    """

    SURE = 1
    LOCAL = 2
    A = 3
    B = 4
    C = 5
    OPEN = 9


@dataclass(frozen=True, slots=True)
class Claim:
    """A section that a name stands for, and how surely. `field` is "" for an open name."""

    field: str
    tier: Tier


# fmt: off
TABLE: tuple[tuple[str, Tier, str], ...] = (
    # doing
    ("doing", Tier.SURE, """
        doing (now); (whats) being done (now); currently doing; what (im|i am|we are|were) doing (now);
        current {task|work|focus|objective|track|progress}(s); current completion status; (the) task(s);
        active {plan|work|task}; mission; (work) in progress; in flight (work); in progress work;
        where {we|things|i|it} {are|stand|stands} (now); where (im|were) at;
        what {we were|i was|i am|we are} working on; (我)(现在|目前|当前){在|正在}做(的|什么|的事|的事情)(呢);
        在做(的|的事|什么); 正在进行(的|的工作|的任务); 进行中(的工作|的任务); 当前(的)任务; 手头(的)(事|工作|任务)
    """),
    ("doing", Tier.LOCAL, """
        (right) now
    """),
    ("doing", Tier.A, """
        (project|repo|overall|current) (repo) {status|state} (summary|snapshot);
        (current) project {status|state} (summary); (aktueller) stand (der dinge); status quo; kurzfassung…;
        estado (actual); estado al…; estado atual…; stato…; en curso; état actuel; état;
        (当前|目前|现在|项目|整体|当前的|目前的)(项目|工作|重点){状态|现状|进度|进展}(快照|概述|概览|总结|摘要);
        已知状态; 当前结论; 现况; 现在の{状况|状态}; 進捗(状況|状态); 작업 요약; 현재 (작업) {상태|목표|상황};
        현재 작업
    """),
    ("doing", Tier.B, """
        (session) summary; (overall|project) progress (so far|summary); …progress so far; tldr;
        {last|this|previous} session (info|summary); where {we|i|things} left off;
        {what was|what i|what we|what is|whats} {done|did|accomplished|completed} (this session|so far|today|
            already); {work|tasks} {done|completed} (this session|so far);
        {done|completed|accomplished} {this session|so far}; recent {changes|history|work};
        what {is|works} {working|right} (right) now; what works now; latest {changes|work|progress};
        was (bisher) gemacht wurde; was schon steht; lo que se hizo…; qué hay…; cosa abbiamo fatto…;
        (本次|上次)(会话|工作|交接){总结|小结|摘要}; 概要; 关键修复;
        {本轮|本次|最近|目前|当前|本次会话}(已|已经)完成(的|的工作|的事|的大项|功能|的功能|事项|内容|情况);
        本轮新增功能; 最近(的)(改动|变更|修改); 做了什么; 已做(的|的事)
    """),
    ("doing", Tier.C, """
        (project) {goal|objective|intent}(s); done; completed (tasks|work|items); finished;
        (任务|项目|本次|当前)目标; 已完成
    """),
    # decided
    ("decided", Tier.SURE, """
        decided (already|so far);
        (key|important|design|main|major|technical|architectural|architecture|current|product|project) (design|
            technical|architectural|architecture|product) decision(s) (made|taken|log|already made|so far);
        what (was|is|weve|we) decided; settled; already {decided|settled};
        {已|已经}{定|决定|确定|定下|敲定|定下来|拍板}(了)(的|的事|的事情|的事项|的决定|的决策|的设计); 定下来的(事);
        定了的(事); 决定;
        (已确定|已定|已做|已做出|已作出)(的)(关键|重要|核心|主要|技术|设计|架构|产品)(设计|技术){决策|决定}(记录);
        做出的决定; (重要な)(技术的|技術的|设计|主な)决定(事项); 决定事项; 핵심 결정 (사항); 결정 (사항);
        (architektur|design)entscheidungen; (wichtige) entscheidungen; entschieden; decisiones…; décisions (prises)
    """),
    ("decided", Tier.A, """
        (hard|key|known|important|project) {constraints|rules|requirements} (from the owner|for next agents);
        working rules (for next agents); non negotiables; what {you must not do|not to do|not to touch};
        do not {touch|change|break}; (working) agreements; conventions; (user) preferences; invariants; assumptions;
        (硬|关键|已知)(性)约束(条件); …规则; 规则; (绝对)不能动(的)(东西|地方|部分); (绝对)红线; (关键|重要)约定;
        (开发|代码|编码|项目)规范; (用户)偏好; 不要动(的|的东西); (feste) regeln; verbindliche vorgaben…;
        arbeitsregeln…; reglas…; …约束; 壊さないでほしい…
    """),
    # dead ends
    ("deadends", Tier.SURE, """
        dead ends; dead end; dead ends {do not|dont} …; dead ends hit; blind alleys;
        what {did not|didnt|does not|doesnt|hasnt|has not} work(ed);
        {things|approaches} {that|which} {did not|didnt|dont|do not} work;
        {whats|what} (has|have|was|we|i) {failed|rejected};
        failed {approaches|attempts|ideas|experiments|solutions}; failures; did not work; didnt work;
        what {we|i|was|has been|weve|ive} tried (already) (and failed|that failed|and what failed|so far);
        (things) (already) tried (and) {failed|rejected|abandoned|ruled out|did not work|didnt work}; tried;
        already tried; {approaches|ideas|options|alternatives|solutions} {rejected|tried|ruled out|abandoned};
        {rejected|abandoned|discarded} {approaches|ideas|options|alternatives}; ruled out;
        {do not|dont} {retry|try again|repeat}; not working approaches;
        走不通(的|的路|的方向|的方案|的事|的办法|的尝试); 死路; 死胡同; 试过…; 已试过…; 已经试过…; 尝试过…; 已尝试…;
        失败(了)的{尝试|方案|做法|方法|路径|路}; {已|已经}排除(的)(假设|方向|方案|路径|可能|原因|选项);
        行不通(的)(路|方向|方案|办法)(的); 不可行(的)(方案|方向|路); 此路不通; つまずきやすい点; 试して…; 試して…;
        うまくいかなかった…; …시도 이력; descartado…; sackgassen; was nicht funktioniert (hat);
        callejones sin salida; impasses
    """),
    # next
    ("next", Tier.SURE, """
        next;
        (the) (recommended|suggested|immediate|exact|proposed|possible|concrete|good|planned|
            remaining) (recommended) next (concrete) {step|action|task}(s);
        (steps|start here|plan|work|tasks) (for) (the) next session; {exact|first} steps (for next session);
        whats next; what is next; what comes next; up next; next up; next work;
        what to (do|work on|tackle) next (session); what to do; next (session) (plan|priorities|goals);
        (do) these first; do first; start here; where {were|we are|to} going; where to go next;
        where to {start|continue|resume}; action items; actions; pending tasks; first thing to do;
        immediate {next|todo|actions|priorities}; nächste (schritte|aufgaben); nächster schritt;
        was als {erstes|nächstes}…; próximos pasos…; próximo paso; próximas…; próximos passos…; prossimi passi…;
        pending (alta) (priorita); tareas (en orden); pendiente(s); qué sigue; prochaines étapes; étapes suivantes;
        (建议|推荐|建议的)下一步(的)(计划|工作|任务|行动|建议|做什么|要做什么|要做的|要做的事|安排|操作|动作);
        接下来(的)(工作|计划|任务|步骤|要做的|要做的事|做什么|要做什么);
        (建议|建议的)后续(的)(工作|方向|优化|计划|步骤|任务|建议|安排); 下一阶段…; 下一次启动时必须先做的事;
        下次(继续|从哪开始|要做的); …待办; 待办(事项|队列|优先序|清单|列表|任务); 已知待办(事项); 接手(的)顺序;
        (本次交接后的)建议(的|执行|修复)顺序; 修复优先级(建议); 次のステップ(候補); 次にやる…;
        次の{作業|アクション|タスク}; 다음 단계…; 다음 세션…; 다음 작업
    """),
    ("next", Tier.A, """
        to do (list|s); todo(s); todo list; remaining (work|tasks|items|steps|roadmap|todo);
        (remaining|short term) roadmap; backlog; pending (work|items); open {work|items|tasks|todos|follow ups};
        open follow up issues; follow up(s); known open items;
        whats {not done|left|missing|remaining|unfinished} (to do);
        what is {not done|left|missing|remaining|unfinished} (to do); not (yet) {started|completed|done|finished};
        unfinished (work|tasks|items); known gaps; gaps; left to do; {resume|resumption|continuation} prompt;
        (当前|目前)(已知){未完成|未完}(的)(项|事项|工作|任务|部分); 未决; 未决/在途; 未决在途; 在途;
        遗留(的)(问题|事项|工作); (还)没做(完)(的|的事); 剩余(的)(工作|任务|事项); 还剩什么; 残っている…;
        このセッションで残っている…; 残存課題; 残課題; 未完了(の作業|のタスク); 미완료 작업; offen; offene punkte;
        nicht begonnen; detalles… pendientes; detalles menores pendientes
    """),
    # scene
    ("scene", Tier.SURE, """
        (the) scene;
        (key|relevant|important|main|critical|modified|changed|touched|active|core|related) (project) {file|doc|
            reference|path|document|link|resource}(s) (changed|modified|touched|created|to read|to read first|
            to know|and paths); file {registry|map|list|index|locations|overview|structure}; key locations;
        code map; pointers; where things live; working set; artifacts; artefacts; git {state|status|info|log};
        branch(es); uncommitted (changes|work); working tree (state|status);
        environment (facts|setup|notes|variables|state|info|details); (the) repo(sitory) (structure|layout|map);
        (current) test baseline; project {structure|layout|tree}; directory {structure|layout};
        (codebase|code) {layout|structure};
        how to {run|build|test|start|use|deploy|verify|reproduce|set up} (it|this|tests|the tests|locally|and test|
            everything); how to run …; (key|useful|common|important|quick|dev|main|handy) command(s) (reference);
        quick start…; quickstart; {dev|development} {workflow|setup|environment};
        running (it|locally|the tests|tests); install; setup; build and {run|test};
        (案发|工作|当前|目前)现场(情况|状态|信息|快照);
        (关键|主要|重要|核心|相关|涉及|涉及的|改动|修改|变更|已修改|改动的|修改的|关键的|重要的|相关的)文件(清单|
            索引|列表|路径|位置|一览|结构|和路径|与路径); 代码{地图|结构|位置|索引}; (项目|系统)架构; 架构;
        {目录|项目|文件|仓库}{结构|位置|路径};
        (运行|开发|测试|当前|本地)环境(事实|变量|信息|配置|情况|与运行|状态|说明|准备); 环境变数;
        (常用|常用的|关键|日常|日常运维|重要){命令|指令}(清单|速查);
        (项目|服务|本地){启动|运行|部署}{方式|命令|方法|步骤|说明|流程}; 如何{启动|运行}; 运行{与|和}{验证|测试};
        运行方式; 部署(信息|说明|流程|方式|状态|情况|现状); 当前部署现状; 服务器(信息|环境);
        {git|仓库|分支|代码|工作区}{状态|信息|情况}; 数据结构现状; プロジェクト构造; プロジェクト構造;
        作成済みファイル一覧; 参考リンク…; 现场の…; 环境; 핵심 파일; 현재 파일 상태; 시각화 명령; umgebung;
        entorno…; cómo levantarlo; wichtige dateien; dateien; archivos (clave|importantes)
    """),
    ("scene", Tier.A, """
        (current) (repo) state; current state summary
    """),
    # open: look like sections and are none
    ("", Tier.OPEN, """
        {open|pending|deferred|needed|unmade|outstanding|undecided} {decision|question|issue}(s) (needed);
        decisions {needed|pending|to make|to be made|required}; deferred design decisions; questions;
        (current|known|key|important|other|critical|main|major) {blocker|risk|issue|bug|problem|limitation|note|
            gotcha|learning|lesson|pitfall|caveat|warning}(s) (learned); what worked (well); what works; context;
        background; next.js…; nextjs…; nextcloud…; 待{决策|拍板|决定|确认|定}(的)(事|事项|问题);
        未决(的){问题|事项|决策}; 判断待ち;
        (当前|关键|重要)(已知|已知的)(技术)(限制和){风险|限制|问题|缺陷|注意事项}; 已知的坑; 注意{事项|点}; 备注;
        踩坑…; 经验教训; 经验; 教训; 주의사항; 背景
    """),
)
# fmt: on
