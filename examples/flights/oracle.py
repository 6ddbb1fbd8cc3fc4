#!/usr/bin/env python3
"""Computes what a windowed count of the flights must come to, independently of the engine and of its language.

    ./oracle.py data/flights-2013.csv.gz --windows tumbling --size 60 --grace 120 --key origin
    ./oracle.py data/flights-2013.csv.gz --windows session --gap 720 --grace 60 --key tailnum --partitions 4 --partition-key tailnum
    ./oracle.py --answers testdata/answers.json

The first forms print one answer as JSON (with --finals, the finals as lines key,start_ms,end_ms,count instead); the last
one rewrites the file of all answers that the tests use. Python 3 and its standard library are enough.

The stream. A flight's record becomes known when it departs, at its scheduled departure + dep_delay minutes; a flight
without dep_delay never departed and is no record. Records are ordered by (actual departure, row of the file). Event time
is the scheduled departure, time_hour + minute minutes.

The rules. Records are spread over the input's partitions by Kafka's murmur2 of --partition-key (default: the flight,
carrier and number, as in "UA1545"). Each partition has its own watermark: the greatest event time seen in it, less the
bound. A record carries the watermark of its partition as it was before that record, and is late

    tumbling  if the end of its window + grace <= that watermark,
    session   if a session that it touches has closed by that watermark, or if it touches none and one of its own would
              have. Sessions touch if they are at most a gap apart; one has closed when its last event time + gap + grace
              < the watermark.

A late record changes no window. Everything closes when the input ends. The end of a session is the time of its last
record; the end of a tumbling window is the first millisecond after it.

Whether a record is late in a session depends on the sessions that are there already. So the answer for sessions is one
that every correct engine must reach only if each key's records come from one partition (--partition-key is the key), or if
no record is further behind than --bound. For tumbling windows it is one in any case.
"""

import argparse
import bisect
import csv
import datetime
import functools
import gzip
import hashlib
import io
import json
import pathlib
import zipfile

MINUTE = 60_000  # ms
NONE = -(1 << 62)  # the watermark before the first record


def murmur2(data):
    """Kafka's murmur2 of bytes, as a signed 32-bit number."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


@functools.cache
def partition_of(key, partitions):
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions


# Values that Kafka's own tests pin.
for text, hash_ in {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}.items():
    assert murmur2(text.encode()) == hash_, text


def read(path):
    """The records of a .csv, .csv.gz or .zip in the order of the stream: (event time in ms, row as a dict)."""
    if path.endswith(".zip"):
        archive = zipfile.ZipFile(path)
        raw = archive.open(archive.namelist()[0])
    else:
        raw = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    records = []
    with io.TextIOWrapper(raw, "utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines)):
            if row["dep_delay"] == "NA":
                continue
            hour = datetime.datetime.fromisoformat(row["time_hour"].replace("Z", "+00:00"))
            event = int(hour.timestamp()) * 1000 + int(row["minute"]) * MINUTE
            row["flight"] = row["carrier"] + row["flight"]
            records.append((event + int(row["dep_delay"]) * MINUTE, number, event, row))
    records.sort(key=lambda r: r[:2])
    return [(event, row) for _, _, event, row in records]


class Tumbling:
    def __init__(self, size, grace):
        self.size, self.grace, self.counts = size, grace, {}

    def add(self, key, time, watermark):
        start = time // self.size * self.size
        if start + self.size + self.grace <= watermark:
            return False
        self.counts[key, start] = self.counts.get((key, start), 0) + 1
        return True

    def finals(self):
        return [(key, start, start + self.size, n) for (key, start), n in self.counts.items()]


class Sessions:
    def __init__(self, gap, grace):
        self.gap, self.grace = gap, grace
        self.of = {}  # key -> [first, last, count] in the order of time, all more than a gap apart

    def add(self, key, time, watermark):
        sessions = self.of.setdefault(key, [])
        # Those that the record touches are neighbours: the first that does not end too early, to the first that starts too late.
        low = bisect.bisect_left(sessions, time - self.gap, key=lambda s: s[1])
        high = bisect.bisect_right(sessions, time + self.gap, key=lambda s: s[0])
        touched = sessions[low:high]
        if any(last + self.gap + self.grace < watermark for _, last, _ in touched or [(time, time, 0)]):
            return False
        merged = touched + [[time, time, 1]]
        sessions[low:high] = [[min(s[0] for s in merged), max(s[1] for s in merged), sum(s[2] for s in merged)]]
        return True

    def finals(self):
        return [(key, *s) for key, sessions in self.of.items() for s in sessions]


def run(records, o):
    """The answer as a dict, and the finals as sorted lines."""
    if o["windows"] == "tumbling":
        windows = Tumbling(o["size_min"] * MINUTE, o["grace_min"] * MINUTE)
    else:
        windows = Sessions(o["gap_min"] * MINUTE, o["grace_min"] * MINUTE)
    watermarks = [NONE] * o["partitions"]
    late = 0
    for time, row in records:
        p = partition_of(row[o["partition_key"]], o["partitions"])
        if not windows.add(row[o["key"]], time, watermarks[p]):
            late += 1
        watermarks[p] = max(watermarks[p], time - o["bound_min"] * MINUTE)
    finals = windows.finals()
    counted = sum(f[3] for f in finals)
    assert counted + late == len(records)
    lines = sorted(",".join(map(str, f)) for f in finals)
    sha256 = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return o | {"records": len(records), "finals": len(finals), "late": late, "counted": counted, "sha256": sha256}, lines


def question(windows, minutes, grace, key, partitions=1, partition_key="flight", bound=0):
    length = "size_min" if windows == "tumbling" else "gap_min"
    return {
        "windows": windows,
        length: minutes,
        "grace_min": grace,
        "bound_min": bound,
        "key": key,
        "partitions": partitions,
        "partition_key": partition_key,
    }


QUESTIONS = [
    question("tumbling", 60, 120, "origin"),
    question("tumbling", 60, 0, "origin"),
    question("session", 30, 60, "origin"),
    question("session", 720, 60, "tailnum"),
    question("session", 30, 0, "origin", bound=1440),
    question("tumbling", 60, 120, "origin", 4),
    question("tumbling", 60, 0, "origin", 4),
    question("session", 30, 60, "origin", 4, "origin"),
    question("session", 720, 60, "tailnum", 4, "tailnum"),
    question("session", 30, 0, "origin", 4, bound=1440),
]


def write_answers(path):
    data = pathlib.Path(__file__).parent / "data"
    answers = []
    for name in ("flights-2013-01.csv.gz", "flights-2013.csv.gz"):
        records = read(str(data / name))
        answers += [{"data": name} | run(records, q)[0] for q in QUESTIONS]
    text = ",\n".join("  " + json.dumps(a) for a in answers)
    pathlib.Path(path).write_text(f"[\n{text}\n]\n")


def main():
    summary, details = __doc__.split("\n\n", 1)
    p = argparse.ArgumentParser(description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", nargs="?", help="the flights, as .csv, .csv.gz or .zip")
    p.add_argument("--windows", choices=("tumbling", "session"), default="tumbling")
    p.add_argument("--size", type=int, default=60, help="of a tumbling window, in minutes")
    p.add_argument("--gap", type=int, default=30, help="of a session, in minutes")
    p.add_argument("--grace", type=int, default=0, help="in minutes")
    p.add_argument("--bound", type=int, default=0, help="by which records may be out of order, in minutes")
    p.add_argument("--key", default="origin", help="the column to group by")
    p.add_argument("--partitions", type=int, default=1)
    p.add_argument("--partition-key", default="flight", help="the column whose hash gives the partition")
    p.add_argument("--finals", action="store_true", help="print the finals instead of the answer")
    p.add_argument("--answers", metavar="FILE", help="rewrite the file of all answers")
    a = p.parse_args()
    if a.answers:
        write_answers(a.answers)
        return
    if not a.file:
        p.error("which file?")
    minutes = a.size if a.windows == "tumbling" else a.gap
    q = question(a.windows, minutes, a.grace, a.key, a.partitions, a.partition_key, a.bound)
    answer, lines = run(read(a.file), q)
    print("\n".join(lines) if a.finals else json.dumps(answer))


if __name__ == "__main__":
    main()
