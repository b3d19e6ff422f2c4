"""Opens files of the data root named by FUGUE_DATA_DIR, plain or gzip'd, for the scripts beside it (not run itself)."""
import gzip
import os
import sys
from pathlib import Path
from typing import BinaryIO


def open_member(name: str) -> BinaryIO:
    """The file `name` of the data root, or `name`.gz unpacked while read; ends the script with a sentence otherwise."""
    root = os.environ.get("FUGUE_DATA_DIR")
    if not root:
        sys.exit(f"FUGUE_DATA_DIR is not set: name the data root that holds {name}")
    plain = Path(root) / name
    packed = plain.with_name(plain.name + ".gz")
    if plain.exists():
        return plain.open("rb")
    if packed.exists():
        return gzip.open(packed, "rb")  # type: ignore[return-value]
    sys.exit(f"neither {plain} nor {packed} is there")
