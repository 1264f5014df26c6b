#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `record` and `convert` write, opened by the programs that it is for.

Class of mistake: a file that its writer's own tests accept and that perf or pprof reads otherwise.  The log is read here
from its description in docs/RESULTS.md, apart from the library; perf report and perf script of Debian's linux-perf, and
protoc with pprof's own profile.proto, must find the same samples.
"""
import collections
import os
import re
import shutil
import struct
import subprocess
import zlib

from checklib import Skip, check, main, run

WORK = os.path.abspath("build/tests/results")
TOOL = os.path.abspath("build/upmu")
SCHEMA = "/usr/share/gocode/src/github.com/google/pprof/proto"
FORMS = ("folded", "pprof", "perf", "kallsyms")
EVENT, SYMBOL, SAMPLE, COUNT, END = 2, 3, 6, 7, 8
KEEP = {}  # what was recorded once


def tool(*words, code=0, **options):
    done = subprocess.run([TOOL, *words], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    assert code is None or done.returncode == code, f"upmu {' '.join(words)}: {done.returncode}: {done.stderr.decode()}"
    return done


def content(name):
    with open(os.path.join(WORK, name), "rb") as file:
        return file.read()


def recorded():
    """One recording of two events, with every file of it."""
    if not KEEP:
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        code, output = run(["make", "-s", "build/upmu"])
        assert code == 0, output
        tool("record", "--sim", "skl", "-e", "cycles,instructions", "-n", "60000", "--log", "log", "-o", "text",
             *(word for form in FORMS for word in ("--" + form, form)))
        KEEP["log"] = read_log(content("log"))
    return KEEP["log"]


def take_text(body, at):
    length = struct.unpack_from("<H", body, at)[0]
    return body[at + 2:at + 2 + length].decode(), at + 2 + length


# Codes of the data source of Skylake's load latency, and what perf says of them.
SOURCES = {1: "LVL L1 hit|SNP None", 3: "LVL L2 hit|SNP None", 4: "LVL L3 hit|SNP None", 7: "LVL L3 hit|SNP HitM",
           10: "LVL Local RAM hit|SNP Hit", 15: "LVL Uncached hit|SNP None"}


def read_log(log):
    """Names of events, symbols, samples as (event, ip), totals: from docs/RESULTS.md."""
    assert log[:16] == b"upmu-log" + struct.pack("<Q", 2), "the head"
    found = {"events": {}, "periods": {}, "symbols": {}, "samples": [], "counts": {}}
    at, records, first = 16, 0, 0
    while at < len(log):
        size, kind = struct.unpack_from("<II", log, at)
        body = log[at + 8:at + size - 4]
        check = zlib.crc32(log[at:at + size - 4], (first + records) % 2**32 if records else 0)
        assert struct.unpack_from("<I", log, at + size - 4)[0] == check, f"the check of record {records}"
        first = first if records else check
        if kind == EVENT:
            index = body[4]
            found["periods"][index] = struct.unpack_from("<Q", body, 50)[0]
            found["events"][index] = take_text(body, 74)[0]
        elif kind == SYMBOL:
            found["symbols"][struct.unpack_from("<QQ", body)] = take_text(body, 28)[0]
        elif kind == SAMPLE:
            _, _, flags, frames, cpu, events = struct.unpack_from("<HHHHII", body)
            ip, _, time = struct.unpack_from("<QQQ", body, 32)
            found["samples"] += [(found["events"][bit], ip, time) for bit in range(32) if events >> bit & 1]
        elif kind == COUNT:
            found["counts"][found["events"][body[4]]] = struct.unpack_from("<Q", body, 8)[0]
        elif kind == END:
            found["end"] = struct.unpack_from("<QQQQ", body)
            assert found["end"][0] == records and at + size == len(log), "the end"
        at, records = at + size, records + 1
    return found


def name_of(log, ip):
    return next((name for (start, end), name in log["symbols"].items() if start <= ip < end), f"{ip:#x}")


def by_function(log):
    """{event: {function: samples}}."""
    counts = collections.defaultdict(collections.Counter)
    for event, ip, _ in log["samples"]:
        counts[event][name_of(log, ip)] += 1
    return counts


def expect(what, is_, should):
    return [] if is_ == should else [f"{what}: {is_}, not {should}"]


@check
def a_log_says_what_record_showed():
    log = recorded()
    text = [line.split(b"\t") for line in content("text").split(b"\n") if line and not line.startswith(b"#")]
    shown = [(event, int(line[0], 16), int(line[-2])) for line in text for bit, event in sorted(log["events"].items())
             if int(line[-1], 16) >> bit & 1]
    complaints = [] if shown == log["samples"] else ["another order of samples than in the text"]
    complaints += expect("samples", log["end"][1], len(text))
    complaints += expect("lost and cut", log["end"][2:], (0, 0))
    for index, event in log["events"].items():
        due = log["counts"][event] // log["periods"][index]
        if abs(len([1 for name, _, _ in log["samples"] if name == event]) - due) > 1 + due // 64:
            complaints.append(f"{event}: {due} samples were due")
    return complaints + ([] if len(log["samples"]) > 300 and len(log["events"]) == 2 else ["too few to say anything"])


@check
def folded_stacks_sum_to_the_samples():
    counts = collections.defaultdict(collections.Counter)
    log = recorded()
    for line in content("folded").decode().split("\n")[:-1]:
        stack, _, count = line.rpartition(" ")
        event, _, function = stack.partition(";")
        counts[event][function] += int(count)
    return expect("folded", counts, by_function(log))


def perf(*words, data="perf"):
    if not shutil.which("perf"):
        raise Skip("perf (linux-perf) is not installed")
    done = subprocess.run(["perf", *words, "-i", data, "--kallsyms", "kallsyms"], cwd=WORK, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, HOME=WORK, PERF_CONFIG="/dev/null", PAGER="cat", LC_ALL="C"))
    if done.returncode and b"WARNING: perf not found for kernel" in done.stderr:
        raise Skip("the perf that is installed does not start")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@check
def perf_script_shows_each_sample():
    log = recorded()
    wanted = collections.Counter((event, ip, name_of(log, ip), time // 1000) for event, ip, time in log["samples"])
    periods = {log["events"][index]: period for index, period in log["periods"].items()}
    found, complaints = collections.Counter(), []
    for line in perf("script", "-F", "comm,pid,tid,cpu,time,period,event,ip,sym").split("\n")[:-1]:
        row = re.match(r"\s*(\S+)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+(\d+)\s+(\S+):\s+([0-9a-f]+)\s+(.*)", line)
        if not row:
            return [f"perf script: {line}"]
        comm, process, thread, cpu, seconds, part, period, event, ip, symbol = row.groups()
        if (comm, process, thread, cpu) != ("mix", "0", "0", "000") or int(period) != periods.get(event):
            complaints.append(line)
        name = symbol if symbol != "[unknown]" else f"{int(ip, 16):#x}"
        found[event, int(ip, 16), name, int(seconds) * 1000000 + int(part)] += 1
    return complaints + ([] if found == wanted else
                         [f"perf script: {row}" for row in list((found - wanted) + (wanted - found))])


@check
def perf_report_counts_our_samples():
    log = recorded()
    wanted = {event: {name: count for name, count in counts.items()} for event, counts in by_function(log).items()}
    found, event, complaints = {}, None, []
    output = perf("report", "--stdio", "-n", "-s", "sym", "--percent-limit", "0")
    periods = {log["events"][index]: period for index, period in log["periods"].items()}
    for line in output.split("\n"):
        head = re.match(r"# Samples: (\S+)\s+of event '(.*)'", line)
        total = re.match(r"# Event count \(approx\.\): (\d+)", line)
        row = re.match(r"\s*[\d.]+%\s+(\d+)\s+\[.\]\s+(\S+)", line)
        if head:
            event = head[2]
            found[event] = {}
        elif total:
            complaints += expect(f"{event}: events", int(total[1]), periods[event] * sum(wanted[event].values()))
        elif row:
            name = row[2] if row[2] in log["symbols"].values() else f"{int(row[2], 16):#x}"
            found[event][name] = found[event].get(name, 0) + int(row[1])
    return complaints + expect("perf report", found, wanted)


@check
def protoc_decodes_the_profile_by_pprofs_own_schema():
    if not shutil.which("protoc") or not os.path.exists(SCHEMA + "/profile.proto"):
        raise Skip("protobuf-compiler or golang-github-google-pprof-dev is not installed")
    log = recorded()
    done = subprocess.run(["protoc", "--decode=perftools.profiles.Profile", "-I", SCHEMA, "profile.proto"],
                          input=content("pprof"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return [done.stderr.decode()]
    profile = messages(done.stdout.decode())
    strings = profile["string_table"]
    complaints = expect("the first string", strings[0], "")
    complaints += [f"unknown field: {field}" for field in profile if field.isdigit()]
    types = [(strings[one["type"][0]], strings[one["unit"][0]]) for one in profile["sample_type"]]
    events = list(log["events"].values())
    complaints += expect("types", types, [kind for event in events for kind in (("samples of " + event, "count"), (event, "events"))])
    functions = {one["id"][0]: strings[one["name"][0]] for one in profile["function"]}
    places = {}
    for one in profile["location"]:
        address = one.get("address", [0])[0]
        places[one["id"][0]] = functions[one["line"][0]["function_id"][0]] if "line" in one else f"{address:#x}"
    counts = collections.defaultdict(collections.Counter)
    weights = collections.Counter()
    for sample in profile["sample"]:
        for i, event in enumerate(events):
            if sample["value"][2 * i]:
                counts[event][places[sample["location_id"][0]]] += sample["value"][2 * i]
            weights[event] += sample["value"][2 * i + 1]
    complaints += expect("pprof", counts, by_function(log))
    complaints += expect("pprof's events", dict(weights), {log["events"][i]: period * sum(by_function(log)[log["events"][i]].values())
                                                           for i, period in log["periods"].items()})
    complaints += expect("the default type", strings[profile["default_sample_type"][0]], events[0])
    return complaints + expect("the period", profile["period"], [log["periods"][0]])


@check
def stacks_of_callers_are_in_every_form():
    """The model's stacks are main, run, the loop: `record -g` as flame graphs, perf and pprof show it."""
    recorded()
    tool("record", "--sim", "skl", "-g", "-n", "20000", "-c", "100000", "--perf", "perf-g", "--kallsyms", "kallsyms",
         "--pprof", "pprof-g", "--folded", "folded-g")
    folded = {tuple(stack.split(";")): int(count) for stack, _, count in
              (line.rpartition(" ") for line in content("folded-g").decode().split("\n")[:-1])}
    complaints = [f"folded: {stack}" for stack in folded if len(stack) != 3 or stack[:2] != ("main", "run")]
    complaints += [] if sum(folded.values()) > 10 and len(folded) > 1 else ["too few to say anything"]
    if shutil.which("protoc") and os.path.exists(SCHEMA + "/profile.proto"):
        done = subprocess.run(["protoc", "--decode=perftools.profiles.Profile", "-I", SCHEMA, "profile.proto"], check=True,
                              input=content("pprof-g"), stdout=subprocess.PIPE)
        profile = messages(done.stdout.decode())
        functions = {one["id"][0]: profile["string_table"][one["name"][0]] for one in profile["function"]}
        places = {one["id"][0]: functions[one["line"][0]["function_id"][0]] for one in profile["location"]}
        found = collections.Counter()
        for sample in profile["sample"]:
            found[tuple(places[place] for place in reversed(sample["location_id"]))] += sample["value"][0]
        complaints += expect("pprof's stacks", dict(found), folded)
    found = collections.Counter(tuple(line.split()[1] for line in reversed(block.strip().split("\n")))
                                for block in perf("script", "-F", "ip,sym", data="perf-g").split("\n\n") if block.strip())
    return complaints + expect("perf's stacks", dict(found), folded)


def messages(text):
    """protoc's text form as {field: [value or the same, ...]}."""
    top, stack = {}, []
    for line in text.split("\n"):
        line = line.strip()
        here = stack[-1] if stack else top
        if line.endswith("{"):
            stack.append({})
            here.setdefault(line[:-1].strip(), []).append(stack[-1])
        elif line == "}":
            stack.pop()
        elif line:
            field, _, value = line.partition(": ")
            here.setdefault(field, []).append(value[1:-1] if value.startswith('"') else int(value))
    return top


@check
def convert_makes_the_same_of_the_log():
    recorded()
    output = tool("convert", "log", *(word for form in FORMS for word in ("--" + form, form + ".again"))).stdout.decode()
    complaints = [f"convert: another {form}" for form in FORMS if content(form) != content(form + ".again")]
    # A map of symbols takes the place of those in the log: one function, then another, by nm's lines.
    with open(os.path.join(WORK, "map"), "w") as file:
        file.write("00000000001d0c00 T upper\n0000000000000010 t lower\n                 U elsewhere\n")
    tool("convert", "log", "--symbols", "map", "--folded", "folded.map")
    names = {line.split(" ")[0].partition(";")[2] for line in content("folded.map").decode().split("\n") if line}
    complaints += expect("names of a map", names & {"upper", "lower", "chase", "memset"}, {"upper", "lower"})
    return complaints + ([] if f"{len(content('text').split(chr(10).encode())) - 3:,} samples" in output else [output])


def log_of(bodies, samples):
    """A log of these records (kind, body) between the machine's and the end."""
    parts, first, records = [b"upmu-log" + struct.pack("<Q", 2)], 0, 0

    def add(kind, body):
        nonlocal first, records
        body += bytes(-(len(body) + 12) % 8)
        record = struct.pack("<II", len(body) + 12, kind) + body
        check = zlib.crc32(record, (first + records) % 2**32 if records else 0)
        first, records = first if records else check, records + 1
        parts.append(record + struct.pack("<I", check))

    add(1, struct.pack("<QIH", 5, 512, 0))
    for kind, body in bodies:
        add(kind, body)
    add(END, struct.pack("<QQQQQ", records, samples, 0, 0, 9))
    return b"".join(parts)


def made_log(events, samples):
    """A log in which each event is of a source and a kind of its own, from docs/RESULTS.md."""
    bodies = [(EVENT, struct.pack("<HHBBI16xQ16xQ16xHHH", i, 0, 0, 0, 3, i, 1000, 0, 0, 0)) for i in range(events)]
    bodies += [(SAMPLE, struct.pack("<HHHHII16xQQQQQ", i % events, 0, 0, 0, 0, 1, 0x1000, 0, i, 0, 0)) for i in range(samples)]
    return log_of(bodies, samples)


@check
def work_of_each_form_grows_linearly_with_the_events_of_a_log():
    """Class of mistake: a search in a loop over what it searches.  Callgrind counts instructions: 8 times as many events
    cost below 14 times as much (64 times for a square).  pprof's own form has a value for each event in each sample."""
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    recorded()
    complaints = []
    for form in FORMS[:3]:
        cost = []
        for events in 250, 2000:
            with open(os.path.join(WORK, "many"), "wb") as file:
                file.write(made_log(events, 20 if form == "pprof" else events))
            done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", TOOL, "convert", "many",
                                   "--" + form, "many.out"], cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            found = re.search(rb"Collected : (\d+)", done.stderr)
            if done.returncode or not found:
                return [done.stderr.decode()]
            cost.append(int(found[1]))
        complaints += [] if cost[1] < 14 * cost[0] else [f"{form}: {cost[0]} and {cost[1]} instructions"]
    return complaints


@check
def perf_shows_the_parts_of_precise_samples():
    """Addresses, weights, sources and the branches of samples that stand in a log as docs/RESULTS.md says."""
    recorded()
    bodies = [(EVENT, struct.pack("<HHBBI16xQ16xQ16xH4sH3sH", 0, 0, 0, 0, 3, 0x5301cd, 1000, 4, b"load", 3, b"skl", 0))]
    wanted = []
    for i in range(60):
        code, count = list(SOURCES)[i % len(SOURCES)], i % 33
        branches = [(0x400000 + 16 * k, 0x400100 + 16 * (i % 5), (0, 1 << 55, 1 << 63)[k % 3] | k) for k in range(count)]
        body = struct.pack("<HHHHIIIIIIQQQQQ", 0, 0, 1, 0, 0, 1, 7, 8, 0, 0, 0x400800 + i, 0, 1000 * i, 0, 1000)
        body += struct.pack("<HHBB2xQQQ", 1 | 2 | 4 | 32, 0, count, 1, 0x7fff00000000 + i, code | (i & 1) << 4 | (i >> 1 & 1) << 5,
                            200 + i)
        bodies.append((9, body + b"".join(struct.pack("<QQQ", *branch) for branch in branches)))
        what = f"OP LOAD|{SOURCES[code]}|TLB {'L2 miss' if i & 1 else 'L1 or L2 hit'}|LCK {'Yes' if i & 2 else 'No'}"
        wanted.append((0x400800 + i, 0x7fff00000000 + i, 200 + i, what,
                       tuple((source, target, "M" if info >> 63 else "P" if info >> 55 else "-", info & 0xffff) for source, target, info in branches)))
    with open(os.path.join(WORK, "precise"), "wb") as file:
        file.write(log_of(bodies, len(wanted)))
    tool("convert", "precise", "--perf", "perf-precise")
    found = []
    for line in perf("script", "-F", "ip,addr,weight,data_src,brstack", data="perf-precise").split("\n"):
        row = re.match(r"\s*([0-9a-f]+)\s+[0-9a-f]+ \|(.*?)\|BLK +N/A\s+(\d+)\s+([0-9a-f]+)(.*)", line)
        if row:  # the level stands there twice, by an old field and by a new one: "L1 or L1 hit"
            found.append((int(row[4], 16), int(row[1], 16), int(row[3]), re.sub(r"LVL (.*?) or .*? hit", r"LVL \1 hit", row[2]),
                          tuple((int(a, 16), int(b, 16), flag, int(cycles)) for a, b, flag, cycles in
                                re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/([MP-])/-/-/(\d+)", row[5]))))
    complaints = expect("perf script: samples", len(found), len(wanted))
    complaints += [f"perf script: {row}" for row, should in zip(found, wanted) if row != should][:5]
    history = perf("report", "--stdio", "--branch-history", "-n", "--percent-limit", "0", data="perf-precise")
    return complaints + ([] if "no callchain or branch data" not in history else ["perf report finds no branches"])


@check
def precise_samples_of_the_model_go_through_perf():
    """`record -d` of load latency: the address that perf shows is the one that the model's instruction accessed, from the
    place where the model found it; and perf mem report and perf report count as many samples."""
    recorded()
    tool("record", "--sim", "skl", "-e", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp", "-c", "977", "-n", "100000", "-d",
         "--perf", "perf-data", "--kallsyms", "kallsyms")
    places = {"memcpy": ("L2 or L2 hit", 14, 0x11000000), "chase": ("Local RAM or RAM hit", 220, 0x13000000)}
    complaints, found = [], collections.Counter()
    lines = {name: size for name, size in (("memcpy", 6), ("chase", 3))}
    for line in perf("script", "-F", "ip,sym,addr,weight,data_src", data="perf-data").split("\n")[:-1]:
        row = re.match(r"\s*([0-9a-f]+)\s+[0-9a-f]+ \|OP LOAD\|LVL (.*?)\|.*?\|BLK +N/A\s+(\d+)\s+([0-9a-f]+) (\w+)", line)
        if not row or (row[2], int(row[3])) != places[row[5]][:2]:
            return [f"perf script: {line}"]
        number, part = divmod(int(row[1], 16) - places[row[5]][2], 8)
        if part or number % lines[row[5]] != int(row[4], 16) % 0x400 // 4:
            complaints.append(f"instruction {number} is not at {row[4]}")
        found[row[5]] += 1
    wanted = 200000 // 977
    complaints += expect("samples", abs(sum(found.values()) - wanted) <= 1 and min(found.values()) > 50, True)
    for words, column in (("report", r"\s*[\d.]+%\s+(\d+)\s+\[k\] (\w+)"),
                          ("mem report", r"\s*[\d.]+%\s+(\d+)\s.*\[k\] (memcpy|chase)\b")):
        counts = collections.Counter()
        output = perf(*words.split(), "--stdio", *(["-n", "-s", "sym"] if words == "report" else []), data="perf-data")
        for line in output.split("\n"):
            row = re.match(column, line)
            if row:
                counts[row[2]] += int(row[1])
        complaints += expect(f"perf {words}", counts, found)
    return complaints


@check
def branches_in_samples_go_through_perf():
    """`record -b`: what perf shows is a way through the program: each branch begins in the function where the one before ended,
    behind its target, and the newest leads to the sample's address.  perf report finds branches, too.  Of stacks with cycles
    of each branch, and of such without."""
    recorded()
    complaints = []
    for cpu, depth, cycles in (("skl", 32, 3), ("haswell_smt", 16, 0), ("sapphirerapids", 32, 3), ("zen4", 16, 0)):
        tool("record", "--sim", cpu, "-e", "instructions", "-c", "977", "-n", "20000", "-b", "--perf", "perf-data", "--kallsyms",
             "kallsyms")
        full = samples = rounds = 0
        for line in perf("script", "-F", "ip,sym,brstack", data="perf-data").split("\n")[:-1]:
            row = re.match(r"\s*([0-9a-f]+) (\w+)\s*(.*)", line)
            entries = re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/([MP])/-/-/(\d+)", row[3])
            at = int(row[1], 16)
            for source, target, _, found in entries:
                if at >> 10 != int(target, 16) >> 10 or (at < int(target, 16) and at >> 10 != 0x1d1400 >> 10):  # run is a loop
                    complaints.append(f"{cpu}: no way from {target} to {at:x}")
                at = int(source, 16)
                rounds += at >> 10 == int(target, 16) >> 10 and int(found) == cycles
            samples, full = samples + 1, full + (len(entries) == depth)
        complaints += expect(f"{cpu}: samples with a full stack", full > samples * 0.9 and samples > 50, True)
        complaints += expect(f"{cpu}: rounds of loops", rounds > samples * depth * 0.8, True)
        history = perf("report", "--stdio", "--branch-history", "-n", "--percent-limit", "0", data="perf-data")
        complaints += [] if "no callchain or branch data" not in history else [f"{cpu}: perf report finds no branches"]
    return complaints


@check
def salvage_has_all_samples_of_a_log_whose_end_a_crash_has_cut():
    recorded()
    with open(os.path.join(WORK, "cut"), "wb") as file:
        file.write(content("log")[:-60])
    output = tool("convert", "--salvage", "cut", "--folded", "folded.cut").stdout.decode()
    return expect("the end", "the end is missing" in output, True) + expect("folded", content("folded.cut"), content("folded"))


@check
def metrics_are_what_their_page_shows():
    recorded()
    with open("docs/METRICS.md", encoding="utf-8") as file:
        command, _, shown = re.search(r"```\n\$ upmu ([^\n]*)(\n)(.*?)```", file.read(), re.S).groups()
    printed = tool(*command.split()).stdout.decode()
    return [] if printed.strip() == shown.strip() else ["docs/METRICS.md shows something else than", printed]


@check
def unwritable_or_unreadable_is_an_error_and_leaves_no_file():
    recorded()
    complaints = []
    for form in FORMS + ("log",):
        words = ["record", "--sim", "skl", "-n", "60000", "--" + form]
        if os.path.exists("/dev/full"):
            done = tool(*words, "/dev/full", code=None)
            complaints += [] if done.returncode == 1 and b"cannot write" in done.stderr else [f"{form}: a full disk"]
        # A pipe that nothing reads.
        reader, writer = os.pipe()
        os.close(reader)
        done = tool(*words, f"/dev/fd/{writer}", code=None, pass_fds=(writer,))
        os.close(writer)
        complaints += [] if done.returncode not in (0, None) else [f"{form}: a closed pipe"]
        # A file system without room for all of it.  (The limit is on the length of a file, in blocks of 1 KiB.)
        done = subprocess.run(["bash", "-c", f"ulimit -f 0; trap '' XFSZ; exec \"$0\" {' '.join(words)} short", TOOL], cwd=WORK,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        left = [name for name in os.listdir(WORK) if name.startswith("short")]
        complaints += [] if done.returncode == 1 and not left else [f"{form}: {done.returncode}, leaves {left}"]
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as device:
            done = subprocess.run([TOOL, "pmus"], stdout=device, stderr=subprocess.PIPE)
        complaints += [] if done.returncode == 1 and b"cannot write the output" in done.stderr else ["output to a full disk"]
    log = content("log")
    for name, damaged in ("cut", log[:-8]), ("empty", b""), ("changed", log[:100] + bytes([log[100] ^ 1]) + log[101:]), ("text", b"x" * 5000):
        with open(os.path.join(WORK, name), "wb") as file:
            file.write(damaged)
        done = tool("convert", name, "--folded", "of-damaged", code=1)
        complaints += [] if b"not a whole log" in done.stderr or name == "empty" else [done.stderr.decode()]
        complaints += [] if b"--salvage" in done.stderr or name == "empty" else [f"{name}: salvage is not named"]
    with open(os.path.join(WORK, "newer"), "wb") as file:
        file.write(log[:8] + b"\3" + log[9:])
    complaints += [] if b"differ" in tool("convert", "newer", code=1).stderr else ["another version"]
    return complaints + (["of-damaged is there"] if os.path.exists(os.path.join(WORK, "of-damaged")) else [])


@check
def a_file_is_never_written_through_a_link_that_lies_there():
    """Catches a tool of root that writes where a link of another user in a folder of all leads."""
    recorded()
    complaints = []
    prey = os.path.join(WORK, "prey")
    for planted, asked, link in (("linked.part", "linked", os.symlink), ("linked", "linked", os.symlink),
                                 ("linked.part", "linked", os.link)):
        with open(prey, "w", encoding="ascii") as file:
            file.write("kept")
        for name in ("linked", "linked.part"):
            if os.path.lexists(os.path.join(WORK, name)):
                os.remove(os.path.join(WORK, name))
        link(prey, os.path.join(WORK, planted))
        done = tool("record", "--sim", "skl", "-n", "60000", "--folded", asked, code=None)
        with open(prey, encoding="ascii") as file:
            complaints += [] if file.read() == "kept" else [f"{planted}, {link.__name__}: written through"]
        complaints += [] if link is os.link or done.returncode == 1 else [f"{planted}: {done.returncode}"]
        # A file of the user's own that an earlier run has left is no hindrance.
        complaints += [] if link is os.symlink or done.returncode == 0 else [f"a part that was left: {done.stderr.decode()}"]
    return complaints


@check
def a_device_is_never_written_through_a_link_of_another_user():
    """Catches a tool of root that writes a report to the disk, because a link in a folder of all leads there."""
    recorded()
    if os.geteuid():
        return []
    complaints = []
    for owner in (0, 65534):
        planted = os.path.join(WORK, "device")
        if os.path.lexists(planted):
            os.remove(planted)
        os.symlink("/dev/null", planted)
        os.chown(planted, owner, owner, follow_symlinks=False)
        done = tool("record", "--sim", "skl", "-n", "60000", "--folded", "device", code=None)
        complaints += [] if done.returncode == (1 if owner else 0) else [f"a link of {owner}: {done.returncode}"]
        os.remove(planted)
    return complaints


if __name__ == "__main__":
    main()
