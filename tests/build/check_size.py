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
SHARE = 1 if SOAK else 16
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
    return over("text.guest") + over("text.guest_x86") + over("text.page_door") + over("text.paravirt")


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
    """{label: numbers} of tables"""
    cells = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {label.strip(): [int(word.replace(",", "") or 0) for word in map(str.strip, numbers)]
            for label, *numbers in cells if not numbers or re.fullmatch(r"[-\d,\s]*", "".join(numbers))}


@check
def size_page_shows_what_options_cost():
    """Finds figures that are 3 % and 64 bytes away, and an option without a row."""
    shown = rows(prices.MARKERS.search(read(prices.PAGE)).group(0))
    names = prices.option_names()
    known = {re.match(r"`(\w+)`", label).group(1) for label in shown if label.startswith("`")}
    complaints = [f"{prices.PAGE}: only one of page and config.h has {name}" for name in sorted(known ^ set(names))]
    print(f"{len(names[::SHARE])} of {len(names)} options are measured" + ("" if SOAK else "; all in make soak (FUZZ_RUNS=soak)"))
    made = prices.whole_rows("gcc", measured()) + [prices.option_row("gcc", name) for name in names[::SHARE]]
    for label, numbers in rows("\n".join(made)).items():
        near = label in shown and all(abs(old - new) <= max(SLACK_BYTES, 0.03 * abs(new))
                                      for old, new in zip(shown[label], numbers))
        complaints += [] if near else [f"{prices.PAGE}: {label} shows {shown.get(label)}, measured {numbers}"]
    return complaints + ["run `make prices`"] * bool(complaints)


if __name__ == "__main__":
    main()
