#!/usr/bin/env bash
# labels: quick; timeout: 180
# fugue prefetch against servers that truncate, stall, loop, lie, reset and send garbage; killed and
# resumed; two at once; a full disk; a folder it may not write to.
# shellcheck source=tests/cli/lib_prefetch.sh
. "$(dirname "$0")/../cli/lib_prefetch.sh"

mkdir -p "$served/set"
head -c 4000000 /dev/urandom >"$served/set/data.bin"
printf '[{"name": "set", "files": [%s], "checks": [{"path": "set/data.bin", "size": 4000000}]}]' \
    "$(file_entry set data.bin set/data.bin)" >"$FUGUE_TEST_DOWNLOADS"
part=$root/.prefetch/set/data.bin.part
mine() {
    whole set/data.bin "$served/set/data.bin"
    [ -z "$(find "$root/.prefetch" -type f ! -name '*.lock')" ] || fail "$last: something is left"
}

# ---- each bad server alone: an error that says why, nothing in place ----

# hostile MODE SENTENCE REQUESTS
hostile() {
    mirror "$1"
    forget
    expect 1 prefetch set
    in_stderr "$base/$1/set/data.bin" "$2"
    nothing_in_place
    asked "^$1/" "$3"
}
hostile 404 "404 (not found)" 1
hostile 500 "500 (its own error)" 3
hostile wrong "damaged or another file" 1
[ ! -e "$part" ] || fail "$last: what is wrong is kept"
hostile long "the server's file has 4000010 bytes, 4000000 were expected" 1
hostile short "the server's file has 3999990 bytes, 4000000 were expected" 1
hostile endless "sends more than the 4000000 bytes" 1
hostile half "ends after" 3
hostile reset "" 3
hostile garbage "" 1
hostile heads "" 3
hostile loop "redirects" 9
hostile tofile "" 1
hostile stall "" 3
[ "$(size_of "$part")" -ge 1000 ] || fail "$last: the part is not kept"
# Half of the file, then the rest: a truncated reply is gone on from.
mirror truncate
forget
expect 0 prefetch set
mine
asked "^truncate/set/data.bin 2000000$" 1
in_stderr "trying again"
rm -rf "$root"
# A server that sends another range than the one asked for.
mkdir -p "$(dirname "$part")"
head -c 1000000 "$served/set/data.bin" >"$part"
mirror badrange
expect 1 prefetch set
in_stderr "the server sends byte 1 where 1000000 was asked for"
[ "$(size_of "$part")" -eq 1000000 ] || fail "$last: the part was touched"

# ---- resuming ----

mirror ok
: >"$work/requests"
expect 0 prefetch set
mine
asked "^ok/set/data.bin 1000000$" 1
# A connection that breaks every 1.5 MB.
mirror flaky
forget
expect 0 prefetch set
mine
asked "^flaky/set/data.bin 1500000$" 1
asked . 3
# A server without ranges starts over.
forget
mkdir -p "$(dirname "$part")"
head -c 1000000 "$served/set/data.bin" >"$part"
mirror norange
expect 0 prefetch set
mine
# A part that is longer than the file, one of its length and wrong, one that is whole.
for content in 4000001 4000000; do
    forget
    mkdir -p "$(dirname "$part")"
    head -c "$content" /dev/zero >"$part"
    mirror ok
    expect 0 prefetch set
    mine
done
forget
mkdir -p "$(dirname "$part")"
cp "$served/set/data.bin" "$part"
expect 0 prefetch set
mine
asked . 0
# A wrong beginning is seen at the end, and then fetched anew.
forget
mkdir -p "$(dirname "$part")"
head -c 1000000 /dev/zero >"$part"
expect 0 prefetch set
mine
asked "^ok/set/data.bin 1000000$" 1
asked "^ok/set/data.bin -1$" 1

# ---- mirrors in turn ----

mirror 404 reset wrong stall redirect
forget
expect 0 prefetch set
mine
in_stderr "404 (not found); trying $base/reset" "trying $base/wrong" "trying $base/stall"
asked "^ok/set/data.bin 3000$" 1
mirror 404 500
forget
expect 1 prefetch set
in_stderr "none of its 2 sources will do; the last: $base/500"
FUGUE_MIRROR=http://127.0.0.1:1/ expect 1 prefetch set
in_stderr "http://127.0.0.1:1/set/data.bin"
FUGUE_MIRROR=file://$served expect 1 prefetch set
nothing_in_place

# ---- no digest in the table: the server's own ----

cp "$FUGUE_TEST_DOWNLOADS" "$work/pinned.json"
sed -E 's/"size": 4000000, "md5": "[0-9a-f]*", "sha256": "[0-9a-f]*"/"size": 0/' "$work/pinned.json" \
    >"$FUGUE_TEST_DOWNLOADS"
mirror stated
forget
expect 1 prefetch set
in_stderr "should be 0000000000"
mirror ok
expect 0 prefetch set
mine
# Only an MD5.
sed -E 's/"sha256": "[0-9a-f]*", //' "$work/pinned.json" >"$FUGUE_TEST_DOWNLOADS"
mirror wrong
forget
expect 1 prefetch set
in_stderr "its MD5 is"
mirror ok
expect 0 prefetch set
mine
cp "$work/pinned.json" "$FUGUE_TEST_DOWNLOADS"

# ---- killed, interrupted ----

for signal in KILL INT TERM; do
    forget
    mirror slow
    "$fugue" prefetch set >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    for _ in $(seq 500); do
        [ -s "$part" ] && [ "$(size_of "$part")" -ge 200000 ] && break
        sleep 0.01
    done
    kill -s "$signal" "$pid"
    wait "$pid" 2>/dev/null
    code=$?
    last="fugue prefetch set, then $signal"
    [ "$code" -eq $((128 + $(kill -l "$signal"))) ] || fail "$last: exit code $code"
    nothing_in_place
    found=$(cd "$root/.prefetch" && find . -type f | sort | tr '\n' ' ')
    [ "$found" = "./set.lock ./set/data.bin.part " ] || fail "$last: left: $found"
    had=$(size_of "$part")
    [ "$signal" = KILL ] || grep -q "what was fetched is kept" "$work/err" || fail "$last: not said"
    expect 0 prefetch --list
    in_stdout "partial"
    mirror ok
    : >"$work/requests"
    expect 0 prefetch set
    mine
    asked "^ok/set/data.bin $had$" 1
done
# A server that says nothing does not hold up Ctrl-C.
forget
mirror stall
"$fugue" prefetch set >"$work/out" 2>"$work/err" </dev/null &
pid=$!
sleep 0.3
kill -s TERM "$pid"
wait "$pid"
[ $? -eq 143 ] || fail "not ended by SIGTERM while the server is silent"

# ---- two and more at once ----

forget
mirror slow
pids=
for i in 1 2 3; do
    "$fugue" prefetch set >"$work/out$i" 2>"$work/err$i" </dev/null &
    pids="$pids $!"
done
last="three at once"
for pid in $pids; do
    wait "$pid" || fail "$last: one failed: $(cat "$work"/err?)"
done
mine
asked . 1
[ "$(cat "$work"/out? | grep -c fetched)" -eq 1 ] || fail "$last: $(cat "$work"/out?)"
grep -q "another process is fetching it" "$work"/err? || fail "$last: the wait is not said"
# What is being fetched is not cleaned away.
forget
"$fugue" prefetch set >"$work/out1" 2>"$work/err1" </dev/null &
pid=$!
for _ in $(seq 500); do
    [ -s "$part" ] && break
    sleep 0.01
done
expect 1 prefetch --clean set
in_stderr "another process is fetching set"
wait "$pid" || fail "a fetch fails that somebody tried to clean away"
mine

# ---- the disk ----

forget
mirror ok
(
    ulimit -f 2000 # kB
    exec "$fugue" prefetch set >"$work/out" 2>"$work/err" </dev/null
)
[ $? -eq 1 ] || fail "a limit on file sizes: no exit code 1"
last="a limit on file sizes"
in_stderr "cannot write to" "data.bin.part" "File too large"
nothing_in_place
expect 0 prefetch set
mine
if [ "$(id -u)" -eq 0 ]; then
    forget
    mkdir -p "$root"
    if mount -t tmpfs -o size=3m,mode=700 tmpfs "$root" 2>"$work/mount"; then
        trap 'umount "$root"; kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
        expect 1 prefetch set
        in_stderr "MB free, and about 4.0 MB are needed" "--root"
        nothing_in_place
        mount -o remount,size=16m "$root"
        expect 0 prefetch set
        mine
        rm -rf "$root/set"
        mount -o remount,ro "$root"
        expect 1 prefetch set
        in_stderr "Read-only file system" "--root DIR"
    else
        echo "no small file system: $(cat "$work/mount")"
    fi
fi

finish
