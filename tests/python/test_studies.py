"""The studies of `bench/studies`, with the records and pages of docs/publications."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from rubato.results import publication
from rubato.results.publication import Record
from school import documents, study
from school.points import Simulated
from school.samples import Samples

ROOT = Path(__file__).resolve().parents[2]
STUDIES = study.names_in(ROOT / "bench/studies")


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_value_has_an_answer_and_what_is_missed_a_reason(name: str):
    study.load(name, ROOT / "bench/studies")  # refuses a value without an answer
    found = publication.load(ROOT / f"docs/publications/{name}.json")
    rows = [row for figure in found.figures for row in figure.rows]
    assert rows and all(row.why for row in rows if row.verdict != "reproduced"), [r.key for r in rows if not r.why]
    assert (ROOT / f"docs/publications/{name}.json").stat().st_size < 1_000_000


@pytest.mark.parametrize("name", STUDIES)
def test_pages_say_what_is_recorded(name: str):
    found = publication.load(ROOT / f"docs/publications/{name}.json")
    page = (ROOT / f"docs/publications/{name}.md").read_text()
    for figure in found.figures:
        assert documents.table_of(figure) in page, f"{figure.key}: bench/publications {name} --update-docs"


def test_quick_points_of_all_studies_take_less_than_a_quarter_of_an_hour_on_two_processors():
    seconds = 0.0
    for name in STUDIES:
        found = study.load(name, ROOT / "bench/studies")
        for point in {point.identity: point for figure in found.figures("quick") for point in figure.points}.values():
            if isinstance(point, Simulated):
                seconds += point.estimate * found.seeds["quick"] / 2
            elif point.processors <= 2:
                seconds += point.estimate * (point.rounds or found.rounds["quick"])
    assert seconds < 15 * 60


@pytest.mark.parametrize("name", STUDIES)
def test_quick_points_draw_each_figure_that_larger_ones_draw(name: str):
    found = study.load(name, ROOT / "bench/studies")
    quick, sampled = ({f.key: f for f in found.figures(size)} for size in ("quick", "sampled"))
    for key, figure in sampled.items():
        assert bool(figure.curves) == bool(quick[key].curves), key
        assert [row.key for row in figure.rows] == [row.key for row in quick[key].rows], key
        assert all(part.points for part in quick[key].curves), key


def test_flasks_quick_programs_are_of_each_group():
    figures = {size: study.load("flask", ROOT / "bench/studies").figures(size) for size in study.SIZES}
    programs = {size: {point.program for figure in found for point in figure.points if isinstance(point, Simulated)}
                for size, found in figures.items()}  # fmt: skip
    assert programs["quick"] == {"web_events", "midtier", "ft", "hmm"}
    assert len(programs["sampled"]) == len(programs["full"]) == 10
    marks = {curve.name: len(curve.points) for f in figures["quick"] if f.key == "10" for curve in f.curves}
    assert marks["servers, flask"] == 2 * (1 + 4) and marks["copies, flask"] == 1 + 3  # the chip refuses 64 ways


def test_flasks_delay_of_memory_is_in_percent_of_tokenbs():
    figure = next(f for f in study.load("flask", ROOT / "bench/studies").figures("sampled") if f.key == "7")
    row = figure.rows[0]
    cycles = {point.identity: 220.0 if "flask" in point.name else 200.0 for point in row.points}
    records = [Record(kind="simulated", name="", size="sampled", point=point, values={"memory_latency": latency})
               for point, latency in cycles.items()]  # fmt: skip
    assert row.value(Samples(records, ())).mean == pytest.approx(10)


def test_flasks_choices_differ_from_their_base_and_those_of_64_agents_share_its_work():
    alone, by_seeds = {"path", "hmm"}, {"web_threads", "web_events"}
    of_size = {"quick": {"midtier", "ft"}, "sampled": {"oltp", "midtier", "mg", "ft", "lu", *alone, *by_seeds}}
    for size, programs in of_size.items():
        (figure,) = study.load("flask", ROOT / "bench/studies").chosen(size, ["sensitivity"])
        points = [point for point in figure.points if isinstance(point, Simulated)]
        assert {point.program for point in points} == programs
        of_choice = {setting for point in points for setting in point.settings}
        assert {("coherence.filter_counts", "chip"), ("coherence.mosaic_probe", "needed"), ("coherence.tokens", "32"),
                ("llc.size", str(2 << 20)), ("llc.banks", "2"),
                *(("coherence.filter", kind) for kind in ("cbf", "exact", "none")),
                *(("net.link_bytes", width) for width in ("8", "32"))} < of_choice  # fmt: skip
        many = [point for point in points if ("chip.cores", "64") in point.settings]
        assert {point.program for point in many} == programs - alone - by_seeds
        seeds = {(point.program, point.seeds) for point in points if ("chip.perturb", "3") in point.settings}
        assert seeds == {(p, 5 if p in by_seeds else 2) for p in programs - {"mg", "lu"} if size != "quick"}
        assert all(point.arguments[point.arguments.index("--threads") + 1] == "64" for point in many)
    work = {point.arguments[-1] for point in many if point.program == "oltp"}
    assert work == {"97"}  # of 390


def test_flasks_choices_are_drawn_as_far_as_they_are_recorded():
    (figure,) = study.load("flask", ROOT / "bench/studies").chosen("sampled", ["sensitivity"])
    time = next(curve for curve in figure.curves if curve.name == "time")

    def record(point: study.Point) -> Record:
        chip = isinstance(point, Simulated) and ("coherence.filter_counts", "chip") in point.settings
        return Record(kind="simulated", name=point.name, size="sampled", point=point.identity,
                      values={"cycles": 110.0 if chip else 100.0})  # fmt: skip

    base = [record(p) for p in time.points if p.name.endswith((": flask 40 %", "filter_counts=chip"))]
    found = Samples(base, ())
    assert time.is_there(found)
    ((label, y),) = [(mark.label, mark.y) for mark in time.marks(found)]
    assert label == "filter_counts=chip" and y == pytest.approx(1.1)
    assert not time.is_there(Samples(base[1:], ()))
    assert len(time.marks(Samples([record(p) for p in time.points], ()))) == 15


@pytest.mark.parametrize("key", ["worst-5", "sparse-5-worst"])
def test_flasks_worst_programs_are_found_with_five_seeds_of_the_web_servers(key: str):
    (figure,) = study.load("flask", ROOT / "bench/studies").chosen("sampled", ["3"])
    row = next(row for row in figure.rows if row.key == key)
    seeds = {(p.program, p.seeds, ("chip.perturb", "3") in p.settings) for p in row.points if isinstance(p, Simulated)}
    assert {program for program, count, _ in seeds if count == 5} == {"web_threads", "web_events"}
    assert len(seeds) == 10 and all(is_perturbed == (count == 5) for _, count, is_perturbed in seeds)


@pytest.mark.parametrize(("figure", "key"), [("3", "sparse-5-servers"), ("5", "access-servers")])
def test_flasks_servers_under_the_sparse_directory_have_seeds(figure: str, key: str):
    of_size = {"quick": {("web_events", 5, True), ("midtier", 0, False)},
               "sampled": {*((program, 5, True) for program in ("web_threads", "web_events")),
                           *((program, 3, True) for program in ("oltp", "midtier"))}}  # fmt: skip
    for size, expected in of_size.items():
        (found,) = study.load("flask", ROOT / "bench/studies").chosen(size, [figure])
        points = next(row for row in found.rows if row.key == key).points
        assert {(p.program, p.seeds, ("chip.perturb", "3") in p.settings)
                for p in points if isinstance(p, Simulated)} == expected  # fmt: skip
