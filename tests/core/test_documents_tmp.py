import json, pytest
from pathlib import Path
from flower_mcp.core.decode import decode
from flower_mcp.core.markdown import from_markdown, missing_sections, FIELDS
D=Path(__file__).parent.parent/"data"/"documents"
def norm(t):
    return "\n".join(l.rstrip() for l in t.replace("\r\n","\n").replace("\r","\n").split("\n")).strip("\n")
@pytest.mark.parametrize("p",sorted(D.glob("*.json")),ids=lambda p:p.stem)
def test_case(p):
    j=json.loads(p.read_text("utf-8")); t=decode(p.with_suffix(".md").read_bytes()).text
    h=from_markdown(t)
    for f in FIELDS: assert norm(getattr(h,f))==norm(j[f]),f
    assert list(missing_sections(t))==j["missing"]
    assert h.complete()==j["valid"]
    if "extra" in j: assert norm("\n\n".join(e.to_markdown() for e in h.extra))==norm(j["extra"])
