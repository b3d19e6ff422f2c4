#!/usr/bin/env python3
"""Writes the seeds of tests/fuzz/corpus: small files of each format, right ones and odd ones.

    tests/fuzz/make_corpus.py        (Python's standard library only; the same bytes every time)

JPEG seeds are made by hand (see corpus/jpeg) and stay as they are.
"""
import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
import zlib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def put(kind, name, data):
    os.makedirs(os.path.join(ROOT, kind), exist_ok=True)
    with open(os.path.join(ROOT, kind, name), "wb") as f:
        f.write(data)


def noise(n, seed=1):
    x, out = seed, bytearray()
    for _ in range(n):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(x >> 16 & 255)
    return bytes(out)


def idx():
    put("idx", "images", struct.pack(">IIII", 0x803, 2, 3, 4) + noise(24))
    put("idx", "labels", struct.pack(">II", 0x801, 5) + bytes([0, 1, 2, 3, 9]))
    put("idx", "one", struct.pack(">IIII", 0x803, 1, 1, 1) + b"x")


def cifar():
    put("cifar_bin", "ten", b"\x03" + noise(3072) + b"\x09" + noise(3072, 2))
    put("cifar_bin", "hundred", b"\x01\x63" + noise(3072, 3))

    def text(s):
        return b"U" + bytes([len(s)]) + s

    def pickle(labels, names, n=2):
        memo = iter(range(1, 256))

        def q():
            return b"q" + bytes([next(memo)])

        data = noise(3072 * n, 5)
        out = b"\x80\x02}" + q() + b"(" + text(b"data") + q()
        out += b"cnumpy.core.multiarray\n_reconstruct\n" + q() + b"cnumpy\nndarray\n" + q()
        out += b"K\x00\x85" + text(b"b") + b"\x87R" + q() + b"(K\x01K" + bytes([n]) + b"M\x00\x0c\x86"
        out += b"cnumpy\ndtype\n" + q() + text(b"u1") + b"K\x00K\x01\x87R" + q()
        out += b"(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        out += struct.pack("<I", len(data)) + data + b"tb"
        for name in names:
            out += text(name) + q() + b"]" + q() + b"("
            out += b"".join(b"K" + bytes([v]) for v in labels) + b"e"
        out += text(b"batch_label") + q() + text(b"testing batch 1 of 1") + q()
        out += text(b"filenames") + q() + b"]" + q() + b"("
        out += b"".join(text(b"n%d.png" % i) + q() for i in range(n)) + b"eu."
        return out

    put("cifar_pickle", "ten", pickle([3, 9], [b"labels"]))
    put("cifar_pickle", "hundred", pickle([3, 99], [b"coarse_labels", b"fine_labels"]))
    put("cifar_pickle", "python3", b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x04data\x94K\x01s.")


def mat():
    head = b"MATLAB 5.0 MAT-file, seed".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)

    def element(kind, data):
        if len(data) <= 4 and kind != 14:
            return struct.pack("<HH", kind, len(data)) + data.ljust(4, b"\0")
        return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    def matrix(name, kind, cls, dims, data):
        body = struct.pack("<IIII", 6, 8, cls, 0) + element(5, struct.pack("<%di" % len(dims), *dims))
        return element(14, body + element(1, name) + element(kind, data))

    labels = matrix(b"labels", 2, 6, [1, 9], bytes(range(1, 10)))
    trnid = matrix(b"trnid", 4, 6, [1, 4], struct.pack("<4H", 1, 20, 300, 4000))
    other = matrix(b"note", 2, 4, [1, 3], b"abc")
    put("mat", "plain", head + labels + trnid)
    packed = b"".join(struct.pack("<II", 15, len(z)) + z for z in (zlib.compress(m) for m in (other, labels, trnid)))
    put("mat", "packed", head + packed)


def tables():
    put("tsv", "plain", b"sentence\tlabel\na fine film \t1\nnot so fine \t0\n")
    put("tsv", "crlf", "sentence\tlabel\r\nna\u00efve , caf\u00e9 \t1\r\nlast\t0".encode())
    put("csv", "plain", b"\x01a,b,c\n1,2,3\n4,5,6\n")
    put("csv", "quoted", b"\x01\xef\xbb\xbf\"a \"\"b\"\"\",\"c,d\"\r\n\"1\n2\",3\r\n\r\n")
    put("csv", "semicolons", b"\x021;2\n3;4")
    put("words", "plain", "\x08the cat sat on the mat <unk> the\n\n \u2003end \n".encode())

    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def piece(s, kind):
        return field(1, field(1, s) + b"\x15\x00\x00\x80\xbf" + b"\x18" + bytes([kind]))

    put("spm_model", "small", piece(b"<unk>", 2) + piece(b"<s>", 3) + piece(b"</s>", 3) +
        piece("\u2581a".encode(), 1) + piece(b"b", 1) + field(2, b"\x18\x01\x20\x05") + field(3, field(1, b"nmt")))


def numpy():
    def npy(descr, shape, data):
        head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
        head = head.encode()
        head += b" " * (-(len(head) + 11) % 64) + b"\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data

    x = npy("<f4", "(2, 3)", struct.pack("<6f", *range(6)))
    y = npy("|u1", "(2,)", b"\x00\x01")
    put("npz", "array.npy", x)
    put("npz", "scalar.npy", npy("<f8", "()", struct.pack("<d", 1.5)))
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as z:
            for member, data in (("x_train.npy", x), ("y_train.npy", y), ("note.txt", b"beside")):
                z.writestr(zipfile.ZipInfo(member), data, method)
        put("npz", name, out.getvalue())


def archives():
    def member(name, data=b"", kind=tarfile.REGTYPE, link=""):
        info = tarfile.TarInfo(name)
        info.size, info.type, info.linkname = len(data), kind, link
        return info, data

    def tar(members, form=tarfile.USTAR_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as t:
            for info, data in members:
                t.addfile(info, io.BytesIO(data))
        return out.getvalue()[: 512 * (2 * len(members) + 6)]

    right = [member("set/a", b"aa"), member("./set/deep/b", b"bb"), member("beside", b"c")]
    put("unpack", "plain.tar", tar(right))
    put("unpack", "plain.tar.gz", gzip.compress(tar(right), mtime=0))
    put("unpack", "long.tar", tar([member("set/" + "n" * 200, b"x")], tarfile.PAX_FORMAT))
    put("unpack", "gnu.tar", tar([member("set/" + "n" * 200, b"x")], tarfile.GNU_FORMAT))
    put("unpack", "up.tar", tar([member("set/../../up", b"x")]))
    put("unpack", "absolute.tar", tar([member("/dev/shm/fugue_escaped", b"x")]))
    put("unpack", "link.tar", tar([member("set/l", kind=tarfile.SYMTYPE, link="/dev/shm"), member("set/l/x", b"x")]))
    put("unpack", "hard.tar", tar([member("set/a", b"a"), member("set/h", kind=tarfile.LNKTYPE, link="set/a")]))
    put("unpack", "bomb.tar.gz", gzip.compress(tar([member("set/z", b"\0" * 200000)]) + b"\0" * 200000, mtime=0))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data, method in (("set/a", b"aa", 0), ("set/b", b"b" * 100, 8), ("../up", b"x", 0)):
            z.writestr(zipfile.ZipInfo(name), data, method)
    put("unpack", "plain.zip", out.getvalue())


def safetensors():
    def file(tensors, meta=None):
        head, data = {}, b""
        if meta:
            head["__metadata__"] = meta
        for name, (dtype, shape, raw) in tensors.items():
            head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + data

    def floats(n):
        return struct.pack("<%df" % n, *[i / 4 for i in range(n)])

    mlp = {"fc1.weight": ("F32", [2, 2], floats(4)), "fc1.bias": ("F32", [2], floats(2)),
           "fc2.weight": ("F16", [2, 2], b"\x00\x3c\x01\x00\x00\xfc\xff\x7b"), "fc2.bias": ("BF16", [2], b"\x80\x3f\x00\x40"),
           "fc3.weight": ("F64", [2, 2], struct.pack("<4d", 1, 2, 3, 4)), "other": ("I64", [], b"\1" + b"\0" * 7)}
    put("safetensors", "mlp", file(mlp, {"format": "pt"}))
    put("safetensors", "empty", file({}))
    put("safetensors", "none", file({"e": ("U8", [0, 4], b"")}))


def texts():
    def dump(kind, name, value):
        put(kind, name, json.dumps(value, indent=1).encode())

    dump("json", "ensemble", {"E99": {"type": "ensemble", "model": "mlp", "dataset": "digits", "n_models": 2, "epochs": 1,
                                      "batch_size": 32, "lr": 0.1, "optimizer": "sgd", "momentum": 0.9}})
    dump("json", "search", {"H1": {"type": "hpo", "model": "digits_cnn", "dataset": "digits", "epochs": 3, "batch_size": 16,
                                   "optimizer": "adamw", "search_space": {"lr": [0.1, 1e-3], "batch_size": [8, 16]}}})
    dump("json", "models", {"M1": {"type": "multi_model", "models": [
        {"model": "mlp", "dataset": "digits", "epochs": 1, "batch_size": 8, "lr": 0.1, "optimizer": "sgd"},
        {"model": "digits_cnn", "dataset": "digits", "epochs": 2, "batch_size": 8, "lr": 0.1, "optimizer": "adam"}]}})
    put("json", "odd", b'{"a": [1, -2.5e10, true, null, "\\u00e9\\n"], "b": {"c": {}}}')
    dump("json_net", "mlp", {"layers": [{"op": "flatten"}, {"op": "linear", "name": "fc1", "out": 4}, {"op": "relu"},
                                        {"op": "linear", "name": "fc2", "out": "outputs"}]})
    with open(os.path.join(ROOT, "../../../examples/small_resnet.json"), "rb") as f:
        put("json_net", "small_resnet", f.read())


for make in (idx, cifar, mat, tables, numpy, archives, safetensors, texts):
    make()
