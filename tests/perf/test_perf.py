#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's own perf, unmodified, counts on abi/perf and the silicon model.

tests/perf/supervisor.c answers its calls and executes the programs that it counts by single steps, so that the truth is
known: the supervisor's log has the instructions of each process.  Class of mistake: an interface that our own tests
accept and that perf reads otherwise.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf_calls  # noqa: E402
from under import HERE, WORK, Skip, environment  # noqa: E402
from checklib import CHECKS, check, main, run  # noqa: E402
from perf_calls import calls_as_recorded  # noqa: E402

LOOP, BRANCHES = 2004, 1000  # what loop.S executes


def supervised(model, *words, **more):
    """Output, exit code and log of a command under the supervisor; `more`: variables of its environment."""
    os.makedirs(WORK, exist_ok=True)
    log = f"{WORK}/log"
    is_perf = words[0] == "perf"
    if is_perf:
        more.update(perf_calls.variables("calls-of-perf"))
    try:
        done = subprocess.run([f"{HERE}/supervisor", model, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment(log, **more), timeout=120)
    finally:
        if is_perf:
            perf_calls.note(words, model, "calls-of-perf", more.get("SUPERVISOR_FILES"))
    output = done.stdout.decode("utf-8", "replace")
    if "programs cannot be traced here" in output:
        raise Skip("programs cannot be traced here (ptrace)")
    if "files cannot be mounted here" in output:
        raise Skip(output.strip())
    with open(log, encoding="utf-8") as file:
        return output, done.returncode, file.read()


def stat(*options, program="loop", model="skl", **more):
    """Counts by event of `perf stat`, the truth (instructions of all processes), and the log."""
    output, code, log = supervised(model, "perf", "stat", "-x,", *options, f"{HERE}/{program}", **more)
    assert code == 0, f"perf stat {' '.join(options)}: exit {code}: {output}"
    counts = {}
    for line in output.splitlines():
        fields = line.split(",")
        if len(fields) < 5:
            continue
        if re.match(r"CPU\d|S-?\d+-D", fields[0]):
            fields = fields[1 if fields[0].startswith("CPU") else 2:]
        value = int(fields[0]) if fields[0].isdigit() else fields[0]
        counts.setdefault(fields[2], []).append(value)
    return counts, sum(map(int, re.findall(r" executed (\d+)", log))), log


def differences(found, expected):
    return [f"{name}: {found.get(name)}, not {value}" for name, value in expected.items() if found.get(name) != value]


@check
@calls_as_recorded
def perf_counts_exactly_on_each_family():
    complaints = []
    for model in "skl", "core", "zen4", "k8_revf", "adl_glc":
        counts, truth, _ = stat("-e", "instructions:u,branches:u,cycles:u", model=model)
        complaints += [f"{model}: {text}" for text in differences(
            counts, {"instructions:u": [LOOP], "branches:u": [BRANCHES], "cycles:u": [2 * LOOP]})]
        complaints += [] if truth == LOOP else [f"{model}: {truth} steps"]
    return complaints


@check
@calls_as_recorded
def processes_and_threads_are_added():
    counts, truth, _ = stat("-e", "instructions:u", program="family")
    complaints = differences(counts, {"instructions:u": [truth]})
    counts, _, log = stat("-i", "-e", "instructions:u", program="family")
    own = int(re.findall(r" executed (\d+)", log)[-1])
    complaints += differences(counts, {"instructions:u": [own]})
    return complaints + ([] if truth > 3000 > own else [f"{truth}, {own}"])


@check
@calls_as_recorded
def groups_raw_words_and_software_events_stand_together():
    counts, _, _ = stat("-e", "{instructions:u,branches:u}", "-e", "r4300c0:u", "-e",
                        "context-switches,page-faults,dummy")
    return differences(counts, {"instructions:u": [LOOP], "branches:u": [BRANCHES], "r4300c0:u": [LOOP],
                                "page-faults": [0], "dummy": [0]})


@check
@calls_as_recorded
def perf_without_options_counts():
    counts, _, _ = stat()
    return differences(counts, {"instructions": [LOOP], "branches": [BRANCHES], "cycles": [2 * LOOP],
                                "branch-misses": [0], "cpu-migrations": [0]})


@check
@calls_as_recorded
def whole_cpus_are_counted():
    counts, _, _ = stat("-a", "-e", "instructions:u")
    complaints = differences(counts, {"instructions:u": [LOOP]})
    counts, _, _ = stat("-a", "-A", "-e", "instructions:u")
    complaints += differences(counts, {"instructions:u": [LOOP, 0]})
    counts, _, _ = stat("-a", "--per-core", "-e", "branches:u")  # (without /sys all CPUs are one core to perf)
    return complaints + ([] if sum(counts["branches:u"]) == BRANCHES else [f"cores: {counts}"])


@check
@calls_as_recorded
def runs_are_repeated_and_intervals_read():
    output, code, _ = supervised("skl", "perf", "stat", "-r", "3", "-e", "instructions:u", f"{HERE}/loop")
    complaints = [] if code == 0 and re.search(r"\s2004\s+instructions:u", output) else [output]
    output, code, _ = supervised("skl", "perf", "stat", "-x,", "-I", "1000", "-e", "instructions:u", f"{HERE}/loop")
    total = sum(int(value) for value in re.findall(r"^\s*[\d.]+,(\d+),,instructions", output, re.M))
    complaints += [] if total == LOOP else [f"intervals: {total}: {output}"]
    output, code, _ = supervised("skl", "perf", "stat", "-j", "-e", "instructions:u", f"{HERE}/loop")
    return complaints + ([] if '"counter-value" : "2004.000000"' in output else [output])


@check
@calls_as_recorded
def events_that_take_turns_are_scaled_by_perf():
    counts, _, _ = stat("-e", ",".join(["branches:u"] * 6))
    values = counts["branches:u"]
    bad = [value for value in values if not isinstance(value, int) or not 850 <= value <= 1150]
    return [f"scaled: {values}"] if bad or len(values) != 6 else []


@check
@calls_as_recorded
def an_event_that_the_cpu_lacks_is_said_to_be():
    counts, _, log = stat("-e", "stalled-cycles-frontend:u,instructions:u")
    complaints = differences(counts, {"stalled-cycles-frontend:u": ["<not supported>"], "instructions:u": [LOOP]})
    counts, _, log = stat("-e", "instructions:pp", "-e", "branches:u")
    complaints += differences(counts, {"instructions:pp": ["<not supported>"], "branches:u": [BRANCHES]})
    return complaints + ([] if "= -95" in log else ["precise: not refused"])


@check
@calls_as_recorded
def words_by_fields_are_those_of_the_files():
    """perf reads which bits a field has, and which words a generic event of the PMU has."""
    complaints = []
    for model, branches in ("skl", "cpu/event=0xc4/u"), ("zen4", "cpu/event=0xc2/u"):
        folder = f"{WORK}/files-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        counts, _, log = stat("-e", f"cpu/instructions/u,{branches},cpu/event=0xc0,cmask=3,inv=1,edge=1/u", model=model,
                              SUPERVISOR_FILES=folder)
        complaints += [f"{model}: {text}" for text in differences(counts, {"cpu/instructions/u": [LOOP],
                                                                           branches: [BRANCHES]})]
        if "type 4 config 0x38400c0" not in log:
            complaints.append(f"{model}: fields of the raw word: {log}")
    return complaints


@check
@calls_as_recorded
def types_of_cores_are_counted_by_their_names():
    """The program runs on CPU 0, a large core: what counts on small ones has nothing to count."""
    folder = f"{WORK}/files-hybrid"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    counts, _, log = stat("-e", "cpu_core/instructions/u,cpu_atom/instructions/u", model="adl_p+adl_e",
                          SUPERVISOR_FILES=folder)
    complaints = differences(counts, {"cpu_core/instructions/u": [LOOP], "cpu_atom/instructions/u": ["<not counted>"]})
    if "type 4 config 0xc0 " not in log or "type 8 config 0xc0 " not in log:
        complaints.append(f"types: {log}")
    counts, _, log = stat("-e", "branches:u", model="adl_p+adl_e", SUPERVISOR_FILES=folder)
    complaints += differences(counts, {"cpu_core/branches:u/": [BRANCHES], "cpu_atom/branches:u/": ["<not counted>"]})
    return complaints + ([] if "type 0 config 0x800000004 " in log else [f"types of generic events: {log}"])


@check
@calls_as_recorded
def units_outside_the_cores_are_counted_by_their_names():
    """The model's first package takes 1/2^14 joule with each instruction, and reads a line of memory."""
    complaints = []
    for model, options, expected in (
            ("kbl", ("-a", "--per-socket", "-e", "power/energy-pkg/,msr/aperf/,cstate_pkg/c6-residency/"),
             (r"S0,1,0\.12,Joules,power/energy-pkg/", r"S0,2,4008,,msr/aperf/", "S0,1,0,,cstate_pkg/c6-residency/")),
            ("kbl", ("-e", "power/energy-pkg/"), (r"0\.12,Joules,power/energy-pkg/",)),
            ("skx2", ("-a", "-e", "uncore_imc_0/UNC_M_CAS_COUNT.RD/,uncore_imc_1/event=4,umask=3/"),
             ("2004,,uncore_imc_0/UNC_M_CAS_COUNT.RD/", "0,,uncore_imc_1/event=4,umask=3/")),
            ("skx2", ("-a", "-A", "-e", "uncore_imc_0/event=4,umask=3/"),
             ("CPU0,2004,,uncore_imc_0/event=4,umask=3/", "CPU1,0,,uncore_imc_0/event=4,umask=3/"))):
        folder = f"{WORK}/files-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        output, code, _ = supervised(f"machine={model}", "perf", "stat", "-x,", *options, f"{HERE}/loop",
                                     SUPERVISOR_FILES=folder)
        complaints += [f"{model}: no {line} in: {output}" for line in expected
                       if code or not re.search(f"^{line},", output, re.M)]
    return complaints


def recorded(*options, program="calls", model="skl"):
    """What perf says when it records, the addresses behind each instruction of the program, and the supervisor's log."""
    output, code, log = supervised(model, "perf", "record", "-o", f"{WORK}/data", *options, f"{HERE}/{program}",
                                   SUPERVISOR_TRUTH=f"{WORK}/truth")
    assert code == 0, f"perf record {' '.join(options)}: exit {code}: {output}"
    with open(f"{WORK}/truth", encoding="ascii") as file:
        return output, file.read().split(), log


def told(*words):
    """What a command of perf's tells of the record; it needs no kernel."""
    done = subprocess.run(["perf", words[0], "-i", f"{WORK}/data", *words[1:]], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=dict(os.environ, LC_ALL="C"), timeout=60)
    return done.stdout.decode("utf-8", "replace")


@check
@calls_as_recorded
def each_sample_of_perf_is_the_nth_instruction():
    complaints = []
    for period, model in (1000, "skl"), (100, "zen4"), (7, "skl"):
        _, truth, _ = recorded("-c", str(period), "-e", "instructions:u", model=model)
        found, expected = told("script", "-F", "ip").split(), truth[period - 1::period]
        if found != expected or len(expected) < 3:
            complaints.append(f"-c {period}, {model}: {len(found)} samples, not {len(expected)}, or of other addresses")
    return complaints


@check
@calls_as_recorded
def perf_records_whole_cpus_and_ends():
    """Perf starts helpers after its last sample: they are not counted, and so not stepped."""
    _, truth, log = recorded("-a", "-c", "100", "-e", "instructions:u", program="loop")
    found = told("script", "-F", "comm,ip").split()
    complaints = [] if found == [word for ip in truth[99::100] for word in ("loop", ip)] else [f"-a: {found[:8]}"]
    steps = [int(count) for count in re.findall(r" executed (\d+)", log)]
    return complaints + ([] if sum(steps) == LOOP == len(truth) else [f"-a: steps of helpers, too: {steps}"])


@check
@calls_as_recorded
def perf_records_in_other_ways():
    complaints = []
    _, truth, _ = recorded("-c", "100", "-e", "{instructions:u,branches:u}:S")
    words = re.findall(r"(\d+) +(instructions|branches):u", told("script", "-F", "period,event"))
    if len(words) < len(truth) // 100 or {name for _, name in words} != {"instructions", "branches"}:
        complaints.append(f"a group's values: {len(words)} of {len(truth)} instructions: {words[:4]}")
    for name in "instructions", "branches":
        values = sum(int(value) for value, event in words if event == name)
        expected = truth[:len(truth) // 100 * 100]
        if name == "instructions" and values != len(expected):
            complaints.append(f"a group's values: {values} instructions, not {len(expected)}")
    _, truth, _ = recorded("--overwrite", "-c", "100", "-e", "instructions:u")
    if told("script", "-F", "ip").split() != truth[99::100]:
        complaints.append("--overwrite: other samples")
    return complaints


@check
@calls_as_recorded
def perf_samples_clocks_by_ticks():
    """A tick comes with each 50th instruction, and a clock's period of 1 ms ends with each 500th one."""
    complaints = []
    for name in "cpu-clock", "task-clock":
        _, truth, _ = recorded("-c", "1000000", "-e", f"{name}:u", program="loop")
        found = told("script", "-F", "ip,period").split()
        expected = [word for ip in truth[499::500] for word in ("1000000", ip)]
        complaints += [] if found == expected and len(found) == 8 else [f"{name}: {found}, not {expected}"]
    return complaints


@check
@calls_as_recorded
def perf_is_told_of_throttling_and_switches():
    recorded("-c", "5", "-e", "instructions:u", program="loop")  # ten overflows a tick; nine samples may be taken
    kinds = re.findall(r"PERF_RECORD_(THROTTLE|UNTHROTTLE|SAMPLE)", told("script", "-D"))
    complaints = [] if kinds[8:12] == ["SAMPLE", "THROTTLE", "UNTHROTTLE", "SAMPLE"] else [f"throttled: {kinds[:15]}"]
    recorded("-a", "--switch-events", "-c", "500", "-e", "instructions:u", program="loop")
    text = told("script", "--show-switch-events", "-F", "comm,tid,cpu,event")
    kinds = re.findall(r"^ *(\S+) .*PERF_RECORD_SWITCH_CPU_WIDE (IN|OUT) +(?:preempt )?(?:prev|next) pid/tid: +(\d+)",
                       text, re.M)
    if not any(name == "loop" and kind == "OUT" for name, kind, _ in kinds):
        complaints.append(f"switches: {kinds}: {text[:600]}")
    return complaints


@check
@calls_as_recorded
def perf_reads_registers_and_unwinds_stacks():
    _, truth, _ = recorded("--user-regs=ip,sp,ax", "-c", "100", "-e", "instructions:u")
    found = re.findall(r"ABI:2 +AX:0x[0-9a-f]+ +SP:0x7f[0-9a-f]+ +IP:0x([0-9a-f]+)", told("script", "-F", "ip,uregs"))
    complaints = [] if found == truth[99::100] else [f"registers: {found[:4]}: {told('script', '-F', 'ip,uregs')[:300]}"]
    recorded("--call-graph", "dwarf,512", "-c", "100", "-e", "instructions:u")
    chains = re.findall(r"^\s*[0-9a-f]+ inner[^\n]*\n\s+[0-9a-f]+ outer[^\n]*\n\s+[0-9a-f]+ _start",
                        told("script", "-F", "ip,sym"), re.M)
    expected = told("script", "-F", "ip,sym", "-G").count("inner")
    if len(chains) != expected or expected < 20:
        complaints.append(f"stacks: {len(chains)} chains of {expected}: {told('script', '-F', 'ip,sym')[:400]}")
    return complaints


@check
@calls_as_recorded
def perf_finds_functions_programs_and_children():
    _, truth, _ = recorded("-c", "10", "-e", "instructions:u")
    shares = {symbol: float(share) for share, symbol in
              re.findall(r"^ +([\d.]+)% .*\[\.\] (\w+)", told("report", "--stdio", "--sort", "comm,dso,sym"), re.M)}
    complaints = []
    for symbol, least, most in ("outer", 30, 32), ("inner", 68, 70):  # of 203 and 454 instructions a turn
        if not least <= shares.get(symbol, 0) <= most:
            complaints.append(f"{symbol}: {shares}")
    text = told("script", "-F", "comm,ip,sym,dso")
    if len(re.findall(r"^ *calls +[0-9a-f]+ (?:outer|inner|_start) \(.*/calls\)$", text, re.M)) != len(truth) // 10:
        complaints.append(f"names: {text[:300]}")
    recorded("-c", "100", "-e", "instructions:u", program="family")
    text = told("script", "--show-task-events", "-F", "comm,tid,pid,time,event,ip")
    forks, ends = text.count("PERF_RECORD_FORK"), text.count("PERF_RECORD_EXIT")
    tasks = set(re.findall(r"^ *family +(\d+/\d+)", text, re.M))
    if forks != 2 or ends < 3 or len(tasks) < 3:
        complaints.append(f"family: {forks} forks, {ends} ends, {len(tasks)} tasks: {text[:600]}")
    return complaints


# Signature of a model's CPUID as perf writes it; events of the table that perf has for this CPU, the word and the count
# of each; and one event of another table.  The words are those of the tables in Linux's tools/perf/pmu-events/arch/x86.
TABLES = {
    "skl": ("GenuineIntel,6,94,3",
            {"inst_retired.any_p": (0xc0, LOOP), "br_inst_retired.all_branches": (0xc4, BRANCHES),
             "inst_retired.total_cycles_ps": (0xa8001c0, 2 * LOOP), "br_inst_retired.not_taken": (0x10c4, 0)},
            "ex_ret_ops"),
    "adl_p+adl_e": ("GenuineIntel,6,151,2",
                    {"inst_retired.prec_dist": (0x100, LOOP), "cpu_clk_unhalted.ref_tsc_p": (0x13c, 2 * LOOP)},
                    "inst_retired.total_cycles_ps"),
    "zen2": ("AuthenticAMD,23,49,0",
             {"ex_ret_instr": (0xc0, LOOP), "ex_ret_brn": (0xc2, BRANCHES), "ex_ret_cops": (0xc1, 0)}, "ex_ret_ops"),
    "zen4": ("AuthenticAMD,25,17,1",
             {"ex_ret_instr": (0xc0, LOOP), "ls_not_halted_cyc": (0x76, 2 * LOOP), "ex_ret_ops": (0xc1, 0)},
             "inst_retired.any_p")}
# A model, a metric that perf computes of its events, its name in later versions of perf, and its value.
METRICS = (("skl", "IpBranch", "tma_info_inst_mix_ipbranch", 2.0),
           ("zen4", "branch_misprediction_ratio", "branch_misprediction_ratio", 0.0))


def folder_of_files(name):
    folder = f"{WORK}/files-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


@check
@calls_as_recorded
def events_of_perfs_own_tables_are_those_of_the_models_cpu():
    """perf executes CPUID, and takes the table of that CPU; a table of this machine's CPU would lack these names."""
    complaints = []
    for model, (signature, events, other) in TABLES.items():
        folder = folder_of_files("table")
        counts, _, log = stat("-e", ",".join(f"{name}:u" for name in events), model=model, SUPERVISOR_FILES=folder)
        for name, (word, count) in events.items():
            found = [value for key in counts if name in key for value in counts[key] if isinstance(value, int)]
            complaints += [] if found == [count] else [f"{model}: {name}: {found}, not {count}"]
            complaints += [] if f"type 4 config {word:#x} " in log else [f"{model}: {name} is no {word:#x}: {log[:500]}"]
        complaints += [] if " cpuid 1:0 = " in log else [f"{model}: {signature}: no CPUID in the log"]
        output, code, _ = supervised(model, "perf", "stat", "-x,", "-e", f"{other}:u", f"{HERE}/loop",
                                     SUPERVISOR_FILES=folder)
        complaints += [f"{model} has {other}: {output}"] if not code or "event syntax error" not in output else []
    return complaints


@check
@calls_as_recorded
def perf_lists_the_events_of_the_models_cpu():
    complaints = []
    for model in "skl", "zen4":
        output, code, _ = supervised(model, "perf", "list", "--no-desc", SUPERVISOR_FAST="1",
                                     SUPERVISOR_FILES=folder_of_files("list"))
        names = set(output.split())
        _, events, other = TABLES[model]
        lacks = sorted(set(events) - names)
        complaints += [f"{model}: exit {code}, not listed: {lacks}"] if code or lacks else []
        complaints += [f"{model}: {other} is listed"] if other in names else []
    return complaints


@check
@calls_as_recorded
def records_say_the_models_cpuid():
    complaints = []
    for model, (signature, _, _) in TABLES.items():
        if model == "zen2":
            continue
        recorded("-c", "1000", "-e", "instructions:u", program="loop", model=model)
        header = told("report", "--header-only")
        complaints += [] if f"# cpuid : {signature}\n" in header else [f"{model}: not {signature}: {header}"]
    return complaints


@check
@calls_as_recorded
def metrics_are_those_of_the_models_cpu():
    complaints = []
    for model, name, later, value in METRICS:
        for metric in name, later:
            output, _, _ = supervised(model, "perf", "stat", "-x,", "-M", metric, f"{HERE}/loop",
                                      SUPERVISOR_FILES=folder_of_files("metric"))
            if "Cannot find metric" not in output:
                break
        found = re.findall(rf",([\d.]+),[% ]*(?:{name}|{later})$", output, re.M)
        complaints += [] if [float(text) for text in found] == [value] else [f"{model}: {name}: {found}: {output}"]
    return complaints


# A file with the inode number of an event's memory file: numbers of a new tmpfs begin anew.
SAME_NUMBER = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
c.syscall.restype = ctypes.c_long
attr = ctypes.create_string_buffer(b"\\1\\0\\0\\0\\x40", 64)
event = c.syscall(298, attr, 0, -1, -1, ctypes.c_ulong(0))
wanted, path = os.fstat(event).st_ino, sys.argv[1] + "/file"
if c.mount(b"none", sys.argv[1].encode(), b"tmpfs", 0, None):
    sys.exit("mount: " + os.strerror(ctypes.get_errno()))
for turn in range(3000000):
    os.mknod(path)
    if os.stat(path).st_ino >= wanted:
        break
    os.unlink(path)
with open(path, "w+b", buffering=0) as file:
    file.write(b"a file")
    file.seek(0)
    text = file.read(100)
print(len(os.read(event, 8)), os.stat(path).st_ino - wanted, text.decode("latin-1"))
"""


@check
def a_file_with_the_number_of_an_event_is_no_event():
    folder = f"{WORK}/numbers"
    for made in folder, f"{WORK}/numbers-files":
        os.makedirs(made, exist_ok=True)
    output, code, _ = supervised("skl", sys.executable, "-c", SAME_NUMBER, folder, SUPERVISOR_FAST="1",
                                 SUPERVISOR_FILES=f"{WORK}/numbers-files")
    return [] if (output.strip(), code) == ("8 0 a file", 0) else [f"exit {code}: {output}"]


@check
def a_kernel_refuses_what_it_refused_when_it_was_recorded():
    complaints = []
    for rights, words in ("root", []), ("user", ["setpriv", "--reuid", "65534", "--clear-groups"]):
        with open(f"tests/golden/perf_errors_{rights}.txt", encoding="ascii") as file:
            head, recorded = file.readline(), file.read().split()
        if rights == "user" and os.getuid() != 0:
            words = []
        done = subprocess.run([*words, f"{HERE}/record_errors", "4000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        here = done.stdout.decode("ascii", "replace").partition("\n")
        wanted = re.sub(r"seeds \d+", "seeds 4000", head.strip())
        if done.returncode or here[0] != wanted:
            print(f"not compared: this machine's kernel: {here[0] or done.stderr.decode().strip()}; recorded: {wanted}")
            continue
        complaints += [f"{rights}: seed {seed}: {ours}, recorded {theirs}" for seed, (ours, theirs) in
                       enumerate(zip(here[2].split(), recorded)) if ours != theirs]
    return complaints


@check
def a_user_is_root_of_a_namespace():
    """Where a user without rights can have one (unshare tells), the same files can be mounted for it as for root."""
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.getuid() == 0 else []
    code, output = run([*user, "unshare", "-r", "-m", "-p", "-f", "--mount-proc", "true"])
    if code:
        raise Skip(f"no user namespace here: {output.strip()}")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(f"{HERE}/supervisor", folder)
        os.mkdir(f"{folder}/files")
        os.chmod(folder, 0o755)
        if user:
            os.chown(f"{folder}/files", 65534, 65534)
        code, output = run([*user, f"{folder}/supervisor", "skl", "sh", "-c",
                            "ls /sys/bus/event_source/devices; id -u; echo $$"], cwd="/",
                           env=dict(os.environ, SUPERVISOR_FILES=f"{folder}/files", SUPERVISOR_ALONE="1"))
    return [] if (code, output) == (0, "cpu\nsoftware\n0\n1\n") else [f"exit {code}: {output}"]


@check
def each_difference_from_linux_has_its_test():
    """docs/PERF.md: each row of its table names a test that runs."""
    with open("docs/PERF.md", encoding="utf-8") as file:
        table = file.read().partition("## What differs from Linux")[2].partition("\n## ")[0]
    known = set()
    for path in glob.glob("tests/unit/ports/test_*perf*.c"):
        with open(path, encoding="utf-8") as file:
            known |= set(re.findall(r"cmocka_unit_test\((\w+)\)", file.read()))
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    complaints = [f"{cells[0]}: {cells[-1]}" for cells in rows
                  if len(cells) != 4 or cells[3].strip("`") not in known]
    return complaints + ([] if len(rows) > 20 else [f"{len(rows)} rows"])


def checks_with_calls():
    return [function.__name__ for function in CHECKS if hasattr(function, "has_calls")]


@check
def each_recorded_demand_is_that_of_a_check():
    """tests/golden/perf_calls_*.txt: what no check runs is compared with nothing."""
    complaints = []
    if perf_calls.recording:
        raise Skip("the demands are recorded now")
    for path in glob.glob("tests/golden/perf_calls_*.txt"):
        recorded = set(perf_calls.sections(path))
        complaints += [f"{path}: {name}" for name in sorted(recorded ^ set(checks_with_calls()))]
    return complaints


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        perf_calls.recording = True
        sys.argv.pop()
        try:
            main()
        except SystemExit as end:
            sys.exit(end.code or perf_calls.write(checks_with_calls()) or 0)
    main()
