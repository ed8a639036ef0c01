"""attnc explain: facts that agree with the other outputs of attnc, and pages that a browser reads without complaint."""

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import attn
from attn import plot
from graph_models import BATCH, HEADS, HIDDEN, LENGTH, SIZE, Graph, attend, block
from paths import ATTNC, attnc, call

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.mlir"))
GPU_LINES = (ROOT / "benchmarks" / "problems" / "gpu_suite.txt").read_text().splitlines()
VOID = {"meta", "rect", "path"}
LARGEST = 2_000_000  # bytes of a page


class Page(HTMLParser):
    """The tags, ids and links of a page, which are balanced, and its visible text."""

    def __init__(self, text: str):
        """Reads a page."""
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        """A tag that opens: records what it has."""
        found = dict(attributes)
        self.tags.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[x] for x in ("href", "src") if x in found]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        """A tag that opens and closes."""
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        """A tag that closes: the last one that was opened."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Text between tags."""
        self.text.append(data)


def check_page(text: str) -> Page:
    """What axe and a link checker look for, as far as the text shows it."""
    page = Page(text)
    assert len(text.encode()) < LARGEST
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not re.search(r"@import|url\(|https?://", text.partition("</style>")[0])
    assert any(tag == "html" and found.get("lang") for tag, found in page.tags)
    for tag, found in page.tags:
        assert tag != "svg" or (found.get("role") == "img" and found.get("aria-label"))
        assert tag != "rect" or min(float(found["width"]), float(found["height"])) >= 0
    return page


def facts(*words) -> dict:
    return json.loads(attnc("explain", *words, "--format=json", "-o", "-"))


def test_facts_agree_with_other_outputs(tmp_path):
    problem = "--problem=b2 hq8 hkv2 sq200 sk333 d64 f32 causal=top_left window=100,0 out=lse"
    found = facts(problem, "--target=x86-64-v3")
    attnc(problem, "--target=x86-64-v3", "-o", tmp_path / "k.o", f"--manifest={tmp_path / 'k.json'}")
    assert found["manifest"] == json.loads((tmp_path / "k.json").read_text())
    printed = attnc("bench", problem, "--target=x86-64-v3", "--roofline=static")
    assert len(found["loops"]) == printed.count("  loop ")
    for loop in found["loops"]:
        mix = ", ".join(f"{count} {name}" for name, count in loop["mix"])
        assert f"{loop['function']}+{loop['start']:#x}: {loop['instructions']} instructions: {mix}, " in printed
    assembly = attnc("bench", problem, "--target=x86-64-v3", "--roofline=asm")
    words = ["llvm-mca-22", f"-mcpu={found['processor']}", "-instruction-info=0", "-resource-pressure=0"]
    for i, loop in enumerate(found["loops"]):
        rounds = min(max(4000 // loop["instructions"], 10), 100)
        command = [*words, f"-iterations={rounds}"]
        simulated = subprocess.run(command, input=assembly, capture_output=True, text=True, check=True).stdout
        assert loop["cycles"] == int(re.findall(r"Total Cycles: +(\d+)", simulated)[i]) / rounds
    (schedule,) = found["schedules"]
    (tiled,) = [x["text"] for x in found["remarks"] if x["code"] == "tiled"]
    counts = schedule["tiles"]["counts"]
    assert f"{counts['full']} full, {counts['partial']} partial, {counts['skipped']} skipped" in tiled
    assert schedule["schedule"] in [x["text"] for x in found["remarks"] if x["code"] == "schedule-selected"]
    phases = [x["name"] for x in found["phases"]]
    assert phases[0] == "input"
    assert phases[-1] == "llvm"
    assert "tile" in phases


def test_what_the_policy_compared():
    """The findings are of the remarks, and the schedule written by hand is what they speak of."""
    for line, target, finding in [
        ("hq8 hkv2 sq4 sk512 d64", "x86-64-v3", "times the cycles"),
        ("hq8 sq1024 d128 bf16", "sm_90a", "the registers hold two fragments of rows"),
    ]:
        found = facts(f"--problem={line}", f"--target={target}")
        (schedule,) = found["schedules"]
        texts = [x["text"] for x in found["remarks"] if x["code"] == "schedule-compared"]
        assert [f"{x['schedule']}: {x['finding']}" for x in schedule["compared"]] == texts
        assert finding in texts[0]
    ratios = [float(x["finding"].split()[0]) for x in facts("--problem=sq256 d64")["schedules"][0]["compared"]]
    assert ratios == sorted(ratios)
    assert ratios[0] >= 1


def test_what_a_tuner_measured(tmp_path):
    file = tmp_path / "tuned.json"
    attnc("tune", "--problem=sq16 d8", "--budget=0.2", "-o", file)
    found = facts("--problem=sq16 d8", f"--tuned={file}")
    (problem,) = json.loads(file.read_text())["problems"]
    assert found["tuned"].items() >= {x: problem[x] for x in ("schedule", "seconds", "policy", "timed")}.items()
    assert problem["policy"] in [x["schedule"] for x in problem["timed"]]
    page = check_page(attnc("explain", "--problem=sq16 d8", f"--tuned={file}", "-o", "-"))
    assert f"attnc tune timed {len(problem['timed'])} schedules on 1 thread" in "".join(page.text)


def test_tiles_are_those_of_the_predicate():
    found = facts("--problem=sq300 sk500 d16 causal=bottom_right", "--target=x86-64-v3")
    tiles = found["schedules"][0]["tiles"]
    _, counts = plot.count_tiles(np.tri(300, 500, 200, dtype=bool), (tiles["query_tile"], tiles["key_tile"]))
    assert tiles["counts"] == counts._asdict()


def test_numbers_of_a_run():
    found = facts("--problem=sq64 d16", "--run", "--seconds=0.01")
    assert found["check"]["passed"]
    (record,) = found["measured"]
    assert record["problem"].startswith("b1 hq1 hkv1 sq64")
    assert record["read_ceiling"] > 0
    assert record["intensity"] == pytest.approx(found["costs"][0]["intensity"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_page_of_an_example(example):
    page = check_page(attnc("explain", example, "--target=x86-64-v3", "-o", "-"))
    assert {"outcome", "limits", "code", "phases"} <= set(page.ids)
    # The chain that returns weights is computed as it is written.
    assert ("mask" in page.ids) == (example.stem != "weights")


@pytest.mark.parametrize("line", [x for x in GPU_LINES if x and not x.startswith("#")][:10])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_page_of_a_gpu_kernel(line, target):
    page = check_page(attnc("explain", f"--problem={line.partition('#')[0].strip()}", f"--target={target}", "-o", "-"))
    assert "code" in page.ids


def test_copies_beside_products():
    """K of the next round is copied beside the softmax and P V; a producer fills stages up to two rounds ahead."""
    (plain,) = facts("--problem=sq1024 d64 bf16", "--target=sm_80")["timelines"]
    bars = {x["lane"]: (x["begin"], x["end"]) for x in plain["bars"] if x["lane"] != "other"}
    assert not plain["producer"]
    assert bars["V"][0] <= bars["scores"][0] < bars["V"][1] <= bars["K"][0] <= bars["values"][0] < plain["length"]
    assert bars["K"][1] == plain["length"]  # the wait at the start of the next round
    found = facts("--problem=hq8 sq1024 d128 bf16", "--target=sm_90a")
    (specialised,) = found["timelines"]
    stages = dict(found["schedules"][0]["fields"])["stages"]
    assert specialised["producer"]
    assert specialised["stages"] == int(stages) == 2
    bars = {x["lane"]: (x["begin"], x["end"]) for x in specialised["bars"] if x["lane"] != "other"}
    assert bars["scores"][0] < bars["values"][0] < bars["scores"][1] < bars["values"][1]
    for name, product in (("K", "scores"), ("V", "values")):
        begin, end = bars[name]
        assert begin >= bars[product][1] - 1
        assert specialised["length"] < end - begin < 2 * specialised["length"]


NVDISASM = """
.text.sdpa_kernel:
.L_x_0:
        /*0000*/                   HMMA.16816.F32.BF16 R96, R148.reuse, R188, RZ ;
        /*0010*/                   HMMA.16816.F32.BF16 R96, R148.reuse, R188, R96 ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
        /*0030*/                   HMMA.16816.F32.BF16 R96, R148.reuse, R188, R96 ;
.L_x_1:
        /*0040*/                   HMMA.16816.F32.BF16 R96, R148.reuse, R188, R96 ;
        /*0050*/               @P1 MUFU.EX2 R8, R9 ;
        /*0060*/                   BRA `(.L_x_0) ;
        /*0070*/                   EXIT ;
"""


def test_machine_code_of_a_gpu(tmp_path, monkeypatch):
    """The loop of what nvdisasm prints, where ptxas makes machine code; no EXIT, which is behind it."""
    if not (shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")):
        pytest.skip("no ptxas in PATH or /usr/local/cuda/bin")
    program = tmp_path / "nvdisasm"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{NVDISASM}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (loop,) = facts("--problem=sq128 d64 bf16", "--target=sm_80")["sass"]
    assert (loop["name"], loop["instructions"]) == ("sdpa_kernel", 7)
    assert {k: v for k, v in loop["mix"] if v} == {"product": 4, "function": 1, "branch": 2}


def test_page_of_linear_attention():
    page = check_page(attnc("explain", "--problem=linear hq4 hkv2 sq40 d16 decay=head beta", "-o", "-"))
    assert "Linear attention of 40 tokens in 4 heads, which share 2 heads of K and V" in "".join(page.text)
    assert {"limits", "code", "phases"} <= set(page.ids)


def test_no_model_of_cycles():
    page = check_page(attnc("explain", "--problem=sq64 d16", "--target=rv64gcv", "-o", "-"))
    assert "LLVM has no model of the cycles of" in "".join(page.text)


def test_every_field_has_words():
    """A field of a schedule without words would stand there bare."""
    for line, target in [
        ("b2 hq8 hkv2 sq1 sk4096 d64", "x86-64-v4"),
        ("hq2 sq256 d64 grad=q,k,v", "sapphirerapids"),
        ("hq2 sq256 d64 bf16", "sapphirerapids"),
        ("hq8 hkv1 sq1 sk8192 d128 bf16", "sm_90a"),
        ("hq8 sq1024 d128 bf16 grad=q,k,v", "sm_90a"),
    ]:
        page = attnc("explain", f"--problem={line}", f"--target={target}", "-o", "-")
        fields = re.findall(
            r'<th scope="row"><code>(\w+)</code></th><td class="number">[^<]*</td><td>([^<]*)</td>', page
        )
        assert fields
        assert all(words for _, words in fields), fields


def models() -> dict:
    """One attention, the same with open sizes, and a layer around it."""
    fixed, opened, layer = Graph(), Graph(), Graph()
    symbols = ["batch", HEADS, "length", SIZE]
    shape = (BATCH, HEADS, LENGTH, SIZE)
    return {
        "fixed": fixed.finish(attend(fixed, *(fixed.draw(x, *shape) for x in "qkv"))),
        "open": opened.finish(attend(opened, *(opened.draw(x, *shape, symbols=symbols) for x in "qkv"))),
        "layer": layer.finish(block(layer, layer.draw("x", BATCH, LENGTH, HIDDEN))),
    }


@pytest.mark.parametrize("name", ["fixed", "open", "layer"])
def test_page_of_a_model(tmp_path, name):
    path = tmp_path / "model.onnx"
    path.write_bytes(models()[name].SerializeToString())
    page = check_page(attnc("explain", path, "--target=x86-64-v3", "-o", "-"))
    assert {"outcome", "graph", "mask", "code", "phases"} <= set(page.ids)
    check_page(attn.from_onnx(models()[name]).kernel.explain())


def test_graph_of_a_model(tmp_path):
    """The flops are those of the whole, each op reads the ones in front of it, and each is timed."""
    path = tmp_path / "model.onnx"
    path.write_bytes(models()["layer"].SerializeToString())
    found = facts(path, "--run", "--seconds=0.01")
    ((graph,), (cost,)) = found["graphs"], found["costs"]
    nodes = graph["nodes"]
    assert sum(x["flops"] for x in nodes) == cost["flops"]
    attention = [x["op"] for x in nodes].index("attn.sdpa")
    rows = 2 * BATCH * LENGTH * HIDDEN
    assert [x["flops"] for x in nodes[:attention]] == 3 * [rows * HIDDEN]
    assert nodes[attention]["inputs"] == [0, 1, 2]  # the products that make Q, K and V
    assert all(x["inputs"] == [i] for i, x in enumerate(nodes[attention + 1 :], attention))
    assert all(0 < x["seconds"] < 1e-3 * found["measured"][0]["best_ms"] for x in nodes)
    text = "".join(check_page(attnc("explain", path, "--run", "--seconds=0.01", "-o", "-")).text)
    assert f"{100 * nodes[attention]['flops'] / cost['flops']:.1f} %, " in text


def test_refused(tmp_path):
    source = tmp_path / "bad.mlir"
    source.write_text(
        'func.func @"<script>alert(1)</script>"(%x: tensor<4xf32>) -> tensor<5xf32> { return %x : tensor<4xf32> }'
    )
    page = tmp_path / "page.html"
    done = subprocess.run([ATTNC, "explain", source, "-o", page], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bad.mlir:1:" in done.stderr
    found = check_page(page.read_text())
    assert found.ids[0] == "refused"
    assert "<script>alert" not in page.read_text()
    assert any("doesn't match function result type" in text for text in found.text)


def test_diff(tmp_path):
    for target in ("x86-64-v2", "x86-64-v3"):
        attnc("explain", "--problem=sq64 d16", f"--target={target}", "--format=json", "-o", tmp_path / f"{target}.json")
    files = [tmp_path / "x86-64-v2.json", tmp_path / "x86-64-v3.json"]
    rows = {
        x["fact"]: (x["left"], x["right"]) for x in json.loads(call(ATTNC, "diff", *files, "--format=json", "-o", "-"))
    }
    assert rows["target_option"] == ("x86-64-v2", "x86-64-v3")
    assert rows["schedules.0.fields.lanes"] == ("4", "8")
    assert "input.name" not in rows
    assert "x86-64-v3.json" in "".join(check_page(call(ATTNC, "diff", *files, "-o", "-")).text)


def test_kernel(tmp_path):
    kernel = attn.compile("sq16 d8")
    page = kernel.explain(tmp_path / "page.html")
    check_page(page)
    assert (tmp_path / "page.html").read_text() == page
    assert json.loads(kernel.explain(tmp_path / "page.json", run=True))["check"]["passed"]
    assert kernel._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.nightly  # where Debian's chromium is installed, as nightly.sh does
def test_in_a_browser(tmp_path):
    """No message on the console, which would also name a request that failed, and the text of each part."""
    path = tmp_path / "page.html"
    attnc("explain", "--problem=b2 hq8 hkv2 sq1024 d64 f32 causal=top_left window=255,0", "--run", "-o", path)
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom", path.as_uri()]
    done = subprocess.run(["chromium", *words], capture_output=True, text=True, check=True, timeout=120)
    assert "CONSOLE" not in done.stderr
    assert set(check_page(path.read_text()).ids) <= set(re.findall(r'id="(\w+)"', done.stdout))


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_contrast():
    """WCAG AA: 4.5 between text and what is behind it, in light and in dark."""
    page = attnc("explain", "--problem=sq16 d8", "-o", "-")
    for theme in re.findall(r":root \{[^}]*\}", page):
        colors = dict(re.findall(r"--(\w+): (#\w{6})", theme))
        for ink in ("ink", "soft", "accent", "missed"):
            for paper in ("paper", "card"):
                pair = sorted((luminance(colors[ink]), luminance(colors[paper])))
                assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, (ink, paper)
        for paper in ("new", "hit"):
            pair = sorted((luminance(colors["ink"]), luminance(colors[paper])))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, paper
