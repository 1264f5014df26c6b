#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The limits on bytes (tools/size.py says what is measured), and what README.md, docs/FIGURES.md and docs/SIZE.md show of them."""
import re
import sys

from checklib import SOAK, check, main, read, run

sys.path.insert(0, "tools")
import prices  # noqa: E402
import readme  # noqa: E402

# Each such option is measured; all of them in make soak.
SHARE = 1 if SOAK else 32
SLACK_BYTES = 64

FIGURES = {}


def measured():
    """{name: value}, measured once."""
    if not FIGURES:
        code, output = run([sys.executable, "tools/size.py", "--limits"])
        FIGURES["lines"] = [line.split("\t") for line in output.split("\n") if line.count("\t") == 2]
        FIGURES["other"] = [line for line in output.split("\n") if line.count("\t") != 2 and line]
        FIGURES["code"] = code
    return {name: int(value) for name, value, _ in FIGURES["lines"]}


def over(prefix):
    values = measured()
    found = [(name, value, values["limit." + name]) for name, value in values.items()
             if name.startswith(prefix) and "limit." + name in values]
    for name, value, limit in found:
        aim = values.get("aim." + name)
        missed = f", {value - aim} more than the aim of {aim}" if aim and value > aim else ""
        print(f"{name}: {value} of {limit} bytes{missed}")
    if not found:
        return FIGURES["other"][-20:] or [f"nothing measured for {prefix}"]
    return [f"{name}: {value} bytes, limit {limit}" for name, value, limit in found if value > limit]


@check
def core_and_intel_backend_stay_below_their_ceiling():
    return over("text.core+x86_core")


@check
def units_outside_the_cores_stay_below_their_ceiling():
    return over("text.units")


@check
def results_stay_below_their_ceiling():
    return over("text.results")


@check
def what_guests_take_stays_below_its_ceilings():
    return over("text.guest") + over("text.guest_x86") + over("text.page_door") + over("text.paravirt") + over("text.sbi") + over("text.sbi_guest")


@check
def perf_event_open_stays_below_its_ceilings():
    return over("text.perf") + over("rodata.perf") + over("ram.perf_")


@check
def size_page_shows_the_bytes_of_perf_event_open():
    return shows(prices.PAGE, prices.PERF, prices.perf_table(measured()))


@check
def vendored_minimum_stays_below_its_ceiling():
    return over("text.minimum") + over("text.threads")


@check
def profiles_stay_below_their_ceilings():
    return over("text.profile_") + over("rodata.profile_")


@check
def public_structures_are_within_their_limits():
    return over("struct.")


def shows(page, markers, made):
    shown = markers.search(read(page))
    if not shown:
        return [f"{page} has no figures"]
    return [] if readme.agree(shown.group(0), shown.group(1) + made + shown.group(2)) else \
        [f"{page} does not show the measured figures: run `make readme`", made]


@check
def readme_shows_the_measured_bytes_of_builds_the_smallest_first():
    texts = [measured()["text." + name] for name in ("minimum", "profile_tiny", "profile_count", "profile_full")]
    return shows("README.md", readme.BUILDS, readme.builds(measured())) + \
        ([] if texts == sorted(texts) else [f"not the smallest first: {texts}"])


@check
def the_page_of_figures_shows_the_measured_bytes_and_accesses():
    return shows(readme.PAGE, readme.MARKERS, readme.table(measured()))


def rows(text):
    """{the words of a row: its numbers} of tables"""
    width = len(prices.COLUMNS)
    cells = [[cell.strip() for cell in line[2:-1].split(" | ")] for line in text.splitlines() if line.startswith("| ")]
    return {" | ".join(row[:-width]): [int(cell.replace(",", "") or 0) for cell in row[-width:]] for row in cells
            if re.fullmatch(r"[-\d,]*", "".join(row[-width:]))}


@check
def size_page_shows_what_options_cost():
    """Finds figures that are 3 % and 64 bytes away, and other words than tools/options.tsv and the compiler say."""
    shown = rows(prices.MARKERS.search(read(prices.PAGE)).group(0))
    options = [option for option in prices.table.rows() if option.price == "measured"]
    print(f"{len(options[::SHARE])} of {len(options)} options are measured" + ("" if SOAK else "; all in make soak (FUZZ_RUNS=soak)"))
    made = prices.whole_rows("gcc", measured()) + [prices.option_row("gcc", option) for option in options[::SHARE]]
    words = [" | ".join(prices.option_words("gcc", option)) for option in prices.table.rows()]
    complaints = [f"{prices.PAGE} has no row | {label} |" for label in words if label not in shown]
    for label, numbers in rows("\n".join(made)).items():
        near = label in shown and all(abs(old - new) <= max(SLACK_BYTES, 0.03 * abs(new))
                                      for old, new in zip(shown[label], numbers))
        complaints += [] if near else [f"{prices.PAGE}: {label} shows {shown.get(label)}, measured {numbers}"]
    return complaints + ["run `make prices`"] * bool(complaints)


if __name__ == "__main__":
    main()
