"""Writes text/words.json and text/tokens.json: what Python makes of the real text sets under $FUGUE_DATA_DIR.

    words.json   WikiText-2 by plain Python: str.split() and collections.Counter
    tokens.json  SST-2 by transformers.XLMRobertaTokenizer (the slow one, on sentencepiece), which holds the offsets

How to run (in a virtual environment outside the tree: `pip install 'transformers<5' sentencepiece protobuf`):
    FUGUE_DATA_DIR=... python3 tests/golden/make_text.py            writes both
    FUGUE_DATA_DIR=... python3 tests/golden/make_text.py --check    compares with the committed files

Whole streams of ids are held by their CRC-32 as little-endian int32; README.md explains the keys.
"""
import gzip
import json
import os
import sys
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import sentencepiece
import transformers

HERE = Path(__file__).parent / "text"
ROOT = Path(os.environ["FUGUE_DATA_DIR"])
VOCABULARY, WINDOW = 6500, 128
MODEL = "tokenizer/spm_wt2valid_unigram2k.model"


def read(name: str) -> str:
    """Bytes as they are: no translation of line ends."""
    return gzip.decompress((ROOT / f"{name}.gz").read_bytes()).decode("utf-8")


def crc(ids: list) -> int:
    return zlib.crc32(np.asarray(ids, dtype="<i4").tobytes())


def stream(vocabulary: dict[str, int], words: list[str]) -> dict:
    ids = [vocabulary.get(w, 1) for w in words]
    n = (len(ids) - 1) // WINDOW
    return {"words": len(ids), "windows": n, "unknown": ids.count(1), "first": ids[:32],
            "crc": crc(ids), "crc_inputs": crc(ids[:n * WINDOW]), "crc_targets": crc(ids[1:n * WINDOW + 1])}


def word_case(train: str, test: str) -> dict:
    words = read(train).split()
    # A literal <unk>, as .tokens files have it, is id 1 and no frequent word.
    frequent = Counter(w for w in words if w != "<unk>").most_common(VOCABULARY - 2)
    vocabulary = {"<unk>": 1} | {w: i for i, (w, _) in enumerate(frequent, 2)}
    shown = [2, 3, 4, 5, 6, 50, 500, 5000, *range(6490, 6500)]
    return {"train": train, "test": test, "distinct": len(set(words)),
            "vocabulary": [[i, *frequent[i - 2]] for i in shown],
            "train_stream": stream(vocabulary, words), "test_stream": stream(vocabulary, read(test).split())}


def words() -> dict:
    valid, test, raw = "wikitext-2/wiki.valid.tokens", "wikitext-2/wiki.test.tokens", "wikitext-2-raw/wiki.test.raw"
    return {"made_with": f"Python {sys.version.split()[0]}", "size": VOCABULARY, "window": WINDOW,
            "cases": [word_case(valid, test), word_case(raw, raw)]}


def token_case(tokenizer: transformers.XLMRobertaTokenizer, name: str, length: int) -> dict:
    rows = [line.split("\t") for line in read(name).removesuffix("\n").split("\n")[1:]]
    ids = tokenizer([r[0] for r in rows], padding="max_length", truncation=True, max_length=length)["input_ids"]
    used = [sum(i != 1 for i in row) for row in ids]
    shown = [0, 1, 2, int(np.argmax(used)), len(rows) - 1]
    return {"file": name, "length": length, "rows": len(rows), "positive": sum(r[1] == "1" for r in rows),
            "tokens": sum(used), "full": sum(u == length for u in used), "unknown": sum(row.count(3) for row in ids),
            "shown": [[i, ids[i][:used[i]]] for i in shown], "crc": crc(ids), "crc_labels": crc([int(r[1]) for r in rows])}


def tokens() -> dict:
    path = str(ROOT / MODEL)
    tokenizer = transformers.XLMRobertaTokenizer(path)
    pieces = sentencepiece.SentencePieceProcessor(model_file=path)
    texts = [["none", ""], ["blank", "   "], ["plain", "it 's a charming and often affecting journey . "],
             ["accents", "caf\u00e9 na\u00efve \uff21\uff22\uff23 \u00bd"], ["emoji", "good \U0001f600 film"],
             ["spaces", "  two\u00a0 \u3000words\t here "], ["cyrillic", "\u0445\u043e\u0440\u043e\u0448\u043e"]]
    return {"made_with": f"transformers {transformers.__version__}, sentencepiece {sentencepiece.__version__}",
            "model": MODEL, "pieces": len(pieces), "vocabulary": len(tokenizer),
            "texts": [[name, text, tokenizer(text)["input_ids"]] for name, text in texts],
            "cases": [token_case(tokenizer, f"SST-2/{f}.tsv", n) for f, n in (("train", 128), ("dev", 128), ("dev", 16))]}


def main(args: list[str]) -> int:
    bad = 0
    for name, make in (("words.json", words), ("tokens.json", tokens)):
        content = make()
        if "--check" in args:
            same = {k: v for k, v in json.loads((HERE / name).read_text()).items() if k != "made_with"} == \
                {k: v for k, v in json.loads(json.dumps(content)).items() if k != "made_with"}
            bad += not same
            print(f"text/{name}: {'same' if same else 'different'}")
        else:
            HERE.mkdir(exist_ok=True)
            text = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in content.items())
            (HERE / name).write_text("{\n" + text + "\n}\n")
            print(f"text/{name}: {(HERE / name).stat().st_size} bytes")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
