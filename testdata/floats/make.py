#!/usr/bin/env python3
"""Makes tables.bin.gz and index.json: what element conversion must give.

Run it in this folder with numpy and ml_dtypes installed.  The output depends on nothing else.

The expected codes come from the definition, not from a conversion routine: all values of the
target are laid out on a line, and the input goes to the nearest.  Values and midpoints of types up
to 16 bits are exact in float64, and Python compares an int with a float exactly, so nothing is
rounded on the way.  float32 and float64 as targets are left to numpy, which rounds once.  Each
result is then compared with astype, and index.json counts the inputs where the two differ.

index.json holds one entry for each pair of dtypes:
  count     elements
  inputs    where they start in the unpacked tables.bin; absent: the codes 0, 1, 2, ...
  expected  where the converted elements start; absent: only their crc32 is kept
  crc32     of the converted elements
  differs   elements where astype gives another result, NaN payloads aside; absent: no astype
"""

import bisect
import gzip
import json
import math
import warnings
import zlib

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore", RuntimeWarning)  # of NaN and overflow, which are meant here

SMALL_FLOATS = [
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3fn",
    "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
]
HALF_FLOATS = ["bfloat16", "float16"]
FLOATS = SMALL_FLOATS + HALF_FLOATS + ["float32", "float64"]
INTEGERS = [
    "bool", "int2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32",
    "int64", "uint64",
]
# Without NaN, its place is taken by a zero of the opposite sign.
NAN = {
    "float4_e2m1fn": 0x8, "float6_e2m3fn": 0x20, "float6_e3m2fn": 0x20, "float8_e3m4": 0x78,
    "float8_e4m3fn": 0x7F, "float8_e5m2": 0x7E, "float8_e4m3b11fnuz": 0x80,
    "float8_e4m3fnuz": 0x80, "float8_e5m2fnuz": 0x80, "float8_e8m0fnu": 0xFF, "bfloat16": 0x7FC0,
    "float16": 0x7E00, "float32": 0x7FC00000, "float64": 0x7FF8000000000000,
}


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def codes_of(array):
    return array.view(f"u{array.dtype.itemsize}")


def sign_bit(name):
    width = {"float4": 4, "float6": 6}.get(name.split("_")[0], dtype_of(name).itemsize * 8)
    return 1 << (width - 1)


class Line:
    """The numbers >= 0 of a float type of up to 16 bits, in order: entry i is code i."""

    def __init__(self, name):
        self.name = name
        self.scale = name == "float8_e8m0fnu"
        self.unsigned_zero = name.endswith("fnuz")
        codes = np.arange(256 if self.scale else sign_bit(name))
        values = codes.astype(f"u{dtype_of(name).itemsize}").view(dtype_of(name))
        values = values.astype(np.float64)
        self.values = values[np.isfinite(values)]
        last_gap = self.values[-1] - self.values[-2]
        beyond = self.values[-1] * 2 if self.scale else self.values[-1] + last_gap
        self.midpoints = (self.values + np.append(self.values[1:], beyond)) / 2
        self.midpoint_list = self.midpoints.tolist()
        infinite = len(values) > len(self.values) and np.isinf(values[len(self.values)])
        if name.startswith(("float4", "float6")):
            self.overflow = len(self.values) - 1
        else:
            self.overflow = len(self.values) if infinite else NAN[name]

    def round(self, value):
        """The code of an int or a float that is not NaN."""
        if self.scale:
            return self.round_scale(value)
        negative = value < 0 or (value == 0 and math.copysign(1, value) < 0)
        magnitude = abs(value)
        code = bisect.bisect_left(self.midpoint_list, magnitude)
        if code < len(self.values) and magnitude == self.midpoint_list[code]:
            code += code % 2
        if code >= len(self.values):
            code = self.overflow
        if self.unsigned_zero and code == 0:
            negative = False
        return code | (sign_bit(self.name) if negative else 0)

    def round_scale(self, value):
        if value <= 0:
            return NAN[self.name]
        if value <= self.values[0]:
            return 0
        code = max(1, bisect.bisect_right(self.midpoint_list, value))
        return min(code, NAN[self.name])


LINES = {name: Line(name) for name in SMALL_FLOATS + HALF_FLOATS}


def nan_code(name, negative):
    if name.endswith("fnuz") or name.endswith("fnu"):
        return NAN[name]
    return NAN[name] ^ (sign_bit(name) if negative else 0)


def exact_values(inputs):
    """The inputs as Python numbers; floats as float64, which holds all of them."""
    if inputs.dtype.kind in "biu":
        return [int(x) for x in inputs]
    if inputs.dtype.name in ("int2", "int4", "uint4"):
        return [int(x) for x in inputs.astype(np.int64)]
    return inputs.astype(np.float64).tolist()


def expected_codes(inputs, to):
    """The codes in the type `to`."""
    values = exact_values(inputs)
    if to in LINES:
        nan = [isinstance(x, float) and math.isnan(x) for x in values]
        codes = [0 if n else LINES[to].round(x) for x, n in zip(values, nan)]
    else:
        wide = inputs if inputs.dtype.kind in "biuf" else np.array(values)
        codes = codes_of(wide.astype(dtype_of(to))).tolist()
        nan = np.isnan(wide) if wide.dtype.kind == "f" else np.zeros(len(values), bool)
    for i in np.flatnonzero(nan):
        codes[i] = nan_code(to, math.copysign(1, values[i]) < 0)
    return np.array(codes, dtype=f"u{dtype_of(to).itemsize}")


def count_differences(inputs, to, expected):
    try:
        theirs = inputs.astype(dtype_of(to))
    except TypeError:
        return None
    ours = expected.view(dtype_of(to))
    both_nan = np.isnan(ours.astype(np.float64)) & np.isnan(theirs.astype(np.float64))
    return int(np.count_nonzero((codes_of(theirs) != expected) & ~both_nan))


def neighbours(values, dtype):
    """Each value rounded to `dtype`, the one below and the one above, of both signs."""
    near = np.asarray(values).astype(dtype)
    below, above = (np.nextafter(near, dtype(end)) for end in (-np.inf, np.inf))
    return np.concatenate([near, below, above, -near, -below, -above])


def chosen_floats(dtype, rng):
    parts = []
    for name, line in LINES.items():
        places = np.concatenate([line.midpoints, line.values[:1], line.values[-1:]])
        places = np.append(places, line.values[np.argmax(line.values > 0)])
        if name in HALF_FLOATS:
            borders = np.concatenate([places[:40], places[1010:1040], places[-40:]])
            places = np.concatenate([borders, rng.choice(places, 600, replace=False)])
        parts.append(neighbours(places, dtype))
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    exponent = {4: (8, 23), 8: (11, 52)}[unsigned.itemsize]
    top = ((1 << exponent[0]) - 1) << exponent[1]
    subnormals = [1, 2, 3, (1 << exponent[1]) - 1, 1 << exponent[1], (1 << exponent[1]) + 1]
    edges = [0, top - 2, top - 1, top, top + 1, top + 5, top | (top >> 1), top | 0x12345]
    bits = np.array(subnormals + edges, unsigned)
    sign = unsigned.type(1 << (8 * unsigned.itemsize - 1))
    parts += [bits.view(dtype), (bits | sign).view(dtype)]
    parts.append(rng.integers(0, 1 << (8 * unsigned.itemsize), 1500, unsigned).view(dtype))
    parts.append((rng.standard_normal(1500) * np.exp2(rng.integers(-20, 12, 1500))).astype(dtype))
    if dtype == np.float64:
        parts.append(float32_midpoints(rng))
    return np.unique(codes_of(np.concatenate(parts))).view(dtype)


def float32_midpoints(rng):
    codes = np.concatenate([
        rng.integers(0, 0x7F7FFFFF, 700), rng.integers(0, 0x00800000, 200),
        [0, 1, 0x007FFFFF, 0x00800000, 0x7F7FFFFE, 0x7F7FFFFF],
    ]).astype(np.uint32)
    low = codes.view(np.float32).astype(np.float64)
    high = np.nextafter(codes.view(np.float32), np.float32(np.inf)).astype(np.float64)
    high[np.isinf(high)] = 2.0**128
    return neighbours((low + high) / 2, np.float64)


def chosen_integers(name, rng):
    info = np.iinfo(name)
    values = [info.min, info.min + 1, info.max - 1, info.max, 0]
    for power in range(info.bits):
        for mantissa_bits in (0, 1, 2, 3, 7, 10, 23, 52):
            step = max((1 << power) >> (mantissa_bits + 1), 1)
            values += [(1 << power) + step * k + d for k in (1, 3) for d in (-1, 0, 1)]
    values += rng.integers(info.min, info.max, 300, np.dtype(name), endpoint=True).tolist()
    values += [-x for x in values]
    return np.array(sorted({x for x in values if info.min <= x <= info.max}), name)


def inputs_of(name, rng):
    """(inputs, whether these are the codes 0, 1, 2, ...)."""
    if name in ("float32", "float64"):
        return chosen_floats(dtype_of(name).type, rng), False
    if name in ("int32", "uint32", "int64", "uint64"):
        return chosen_integers(name, rng), False
    if name == "bool":
        return np.array([False, True]), True
    size = dtype_of(name).itemsize
    return np.arange(1 << (8 * size), dtype=f"u{size}").view(dtype_of(name)), True


def main():
    rng = np.random.default_rng(20240229)
    blob, cases = bytearray(), []
    for source in FLOATS + INTEGERS:
        inputs, all_codes = inputs_of(source, rng)
        place = None if all_codes else len(blob)
        if not all_codes:
            blob += inputs.tobytes()
        for target in FLOATS:
            if target == source:
                continue
            expected = expected_codes(inputs, target)
            case = {"from": source, "to": target, "count": len(inputs)}
            if place is not None:
                case["inputs"] = place
            full = len(inputs) < 65536 or (source in FLOATS and target in SMALL_FLOATS)
            if full:
                case["expected"] = len(blob)
                blob += expected.tobytes()
            case["crc32"] = zlib.crc32(expected.tobytes())
            differs = count_differences(inputs, target, expected)
            if differs is not None:
                case["differs"] = differs
            cases.append(case)
    with open("tables.bin.gz", "wb") as file:
        file.write(gzip.compress(bytes(blob), 9, mtime=0))
    made_with = {"numpy": np.__version__, "ml_dtypes": ml_dtypes.__version__}
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    with open("index.json", "w") as file:
        file.write(f'{{"made_with": {json.dumps(made_with)},\n "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
