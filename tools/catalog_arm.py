#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make sources of catalogues from the event files that Arm publishes.

    python3 tools/catalog_arm.py FOLDER...

A folder is pmu/ of github.com/ARM-software/data (cortex-a53.json and so on; Apache-2.0), or has single files of that
form.  CPUs with equal events share a catalogue, of the CPU that CPUS names first.  Afterwards run tools/catalog_pack.py.

--out DIR     where the sources go (events/foreign)

What is malformed is refused, by file and event; then nothing is written.  Only facts are taken: names, codes, CPUs.
Events without a name there and in UNNAMED are left out, and so are CPUs that have neither PMUv3 nor PMUv2.  CPUs that have AArch32 alone
stand in files of their own (a32_), which builds for AArch64 do without.
"""
import argparse
import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalog_pack as pack  # noqa: E402
from catalog_pack import Catalogue, Row  # noqa: E402
from catalog_source import write  # noqa: E402

PMU = "armv8_pmuv3"
PMUS = {"pmuv3": (PMU, 0xffff), "pmuv2": ("armv7_pmuv2", 0xff)}  # and the highest code of an event
COMMON, COMMON_NUMBER, COMMON_EVENTS = "common_armv9.json", 200, 64  # those whose presence PMCEID shows
# Numbers are for ever: a new catalogue is named at the end.  Behind a name another one, of a CPU with equal events.
FIRST_NUMBER = 202
CPUS = """cortex_a53, cortex_a35, cortex_a55, cortex_a57 cortex_a72, cortex_a65 neoverse_e1, cortex_a73,
    cortex_a75, cortex_a76 cortex_a77, cortex_a78 cortex_a78c, cortex_r82, cortex_x1, neoverse_n1, neoverse_v1, rainier,
    cortex_a510, cortex_a520, cortex_a710 cortex_x2, cortex_a715, cortex_a720, neoverse_n2 neoverse_v2, neoverse_n3,
    neoverse_v3, cortex_x4, cortex_a5, cortex_a7, cortex_a15, cortex_a17, cortex_a32, cortex_r52, cortex_a34"""
ONLY_AARCH32 = ("cortex_a5", "cortex_a7", "cortex_a15", "cortex_a17", "cortex_a32", "cortex_r52")
# The files say PMUv2, ID_DFR0 does not (Technical Reference Manuals: DDI 0460 of Cortex-R5, DDI 0458 of R7): the backend drives none.
PMUV1 = ("cortex_a8", "cortex_a9", "cortex_r4", "cortex_r5", "cortex_r7", "cortex_r8")
# Names of events that Arm's files give only a code and a text (Linux 6.12, tools/perf/pmu-events/arch/arm64/arm/cortex-a53).
# The other CPUs' files have the same codes with the same texts.
UNNAMED_CPUS = ("cortex_a53", "cortex_a34", "cortex_a35", "cortex_a32")
UNNAMED = {
    0xc0: "EXT_MEM_REQ", 0xc1: "EXT_MEM_REQ_NC", 0xc2: "PREFETCH_LINEFILL", 0xc3: "PREFETCH_LINEFILL_DROP",
    0xc4: "READ_ALLOC_ENTER", 0xc5: "READ_ALLOC", 0xc6: "PRE_DECODE_ERR", 0xc7: "STALL_SB_FULL", 0xc8: "EXT_SNOOP",
    0xc9: "BR_COND", 0xca: "BR_INDIRECT_MISPRED", 0xcb: "BR_INDIRECT_MISPRED_ADDR", 0xcc: "BR_COND_MISPRED",
    0xd0: "L1I_CACHE_ERR", 0xd1: "L1D_CACHE_ERR", 0xd2: "TLB_ERR", 0xe0: "OTHER_IQ_DEP_STALL", 0xe1: "IC_DEP_STALL",
    0xe2: "IUTLB_DEP_STALL", 0xe3: "DECODE_DEP_STALL", 0xe4: "OTHER_INTERLOCK_STALL", 0xe5: "AGU_DEP_STALL",
    0xe6: "SIMD_DEP_STALL", 0xe7: "LD_DEP_STALL", 0xe8: "ST_DEP_STALL",
}
# perf's generic names: the first of the events that a CPU has.
GENERIC = {
    "branch-instructions": ("BR_RETIRED", "PC_WRITE_RETIRED", "PC_WRITE_SPEC"), "branches": ("BR_RETIRED", "PC_WRITE_RETIRED", "PC_WRITE_SPEC"),
    "branch-misses": ("BR_MIS_PRED", "BR_MIS_PRED_RETIRED"), "cache-references": ("L1D_CACHE",), "cache-misses": ("L1D_CACHE_REFILL",),
    "cpu-cycles": ("CPU_CYCLES",), "cycles": ("CPU_CYCLES",), "instructions": ("INST_RETIRED",),
    "bus-cycles": ("BUS_CYCLES",), "stalled-cycles-backend": ("STALL_BACKEND",),
    "stalled-cycles-frontend": ("STALL_FRONTEND",),
}
NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


class Refused(Exception):
    pass


class Part:
    """What one file says of a CPU."""

    def __init__(self, path):
        self.path, self.name = path, os.path.splitext(os.path.basename(path))[0].replace("-", "_")
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            self.pmu, highest = PMUS.get(data.get("pmu_architecture"), ("", 0))
            events = data["events"] if self.pmu and self.name not in PMUV1 else []
            self.cpuid = int(data.get("cpuid", "0"), 16)
        except (ValueError, KeyError, TypeError, AttributeError) as mistake:
            raise Refused(f"{path}: {mistake!r}") from None
        self.codes = {}
        for event in events:
            name, code = event.get("name"), event.get("code")
            if name is None and self.name in UNNAMED_CPUS and type(code) is int:
                name = UNNAMED.get(code)
            if name is None or code is None:
                continue
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise Refused(f"{path}: {name!r} is no name of an event")
            if type(code) is not int or not 0 <= code <= highest:
                raise Refused(f"{path}: {name}: {code!r} is no code")
            if self.codes.setdefault(name, code) != code:
                raise Refused(f"{path}: {name} stands twice")
        if self.codes and not self.name.startswith("common") and not 0 < self.cpuid >> 12 < 0x80:
            raise Refused(f"{path}: cpuid says no CPU")

    def alike(self):
        """Equal for CPUs that share a catalogue."""
        return self.codes, self.pmu, self.name in ONLY_AARCH32

    def cpu(self):
        """Implementer, low bits of the part's number, steppings, core type, high bits (with 10h: never 0, which is any)."""
        return self.cpuid >> 12, self.cpuid & 0xff, 0xffff, 0, 0x10 | self.cpuid >> 8 & 0xf


def catalogue_of(name, number, other, codes, cpus, pmu=""):
    catalogue = Catalogue(name, number, other)
    catalogue.cpus = sorted(cpus, key=lambda cpu: (cpu[0], cpu[4], cpu[1]))
    catalogue.pmu = pmu
    catalogue.rows = [Row(name, code) for name, code in codes.items()]
    for alias, events in GENERIC.items():
        target = [event for event in events if event in codes][:1]
        catalogue.aliases += [(alias, event, []) for event in target]
    pack.check(catalogue)
    return catalogue


def sources_of(parts):
    """(catalogue, files that it is of) for each."""
    common = [part for part in parts if os.path.basename(part.path) == COMMON]
    for part in common:
        codes = {name: code for name, code in part.codes.items() if code < COMMON_EVENTS}
        yield catalogue_of(PMU, COMMON_NUMBER, "", codes, []), [part]
    parts = [part for part in parts if part.codes and not part.name.startswith("common")]
    known = [(names.split() + [""])[:2] for names in CPUS.split(",")]
    for number, (name, other) in enumerate(known, FIRST_NUMBER):
        first = [part for part in parts if part.name == name]
        same = [part for part in parts if first and part.alike() == first[0].alike()]
        if first:
            yield catalogue_of(name, number, other, first[0].codes, [part.cpu() for part in same], first[0].pmu), first + \
                [part for part in same if part.name != name]
        parts = [part for part in parts if part not in same]
    if parts:
        raise Refused(f"{parts[0].path}: CPUS has no {parts[0].name}, and no other CPU has these events")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--out", default=os.path.join(pack.ROOT, "events", "foreign"))
    options = parser.parse_args()
    writes = []
    try:
        paths = sorted(path for folder in options.folders for path in glob.glob(os.path.join(folder, "*.json"))
                       if not path.endswith("schema.json"))
        for catalogue, parts in sources_of([Part(path) for path in paths]):
            begin = "" if catalogue.name == PMU else "a32_" if catalogue.name in ONLY_AARCH32 else "arm_"
            files = " ".join(os.path.basename(part.path) for part in parts)
            writes.append((os.path.join(options.out, begin + catalogue.name + ".tsv"),
                           write(catalogue, [f"source: ARM-software/data pmu: {files} (Copyright (C) Arm Ltd., Apache-2.0): "
                                             "names and codes"])))
    except Refused as refusal:
        sys.exit(f"refused: {refusal}")
    os.makedirs(options.out, exist_ok=True)
    for path, text in writes:
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        print(path)


if __name__ == "__main__":
    main()
