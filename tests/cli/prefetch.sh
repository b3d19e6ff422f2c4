#!/usr/bin/env bash
# labels: quick; timeout: 180
# fugue prefetch: choosing, fetching, listing, cleaning, offline; archives that are not what they
# seem.  tests/process/prefetch.sh has the hostile servers.
# shellcheck source=tests/cli/lib_prefetch.sh
. "$(dirname "$0")/lib_prefetch.sh"

# ---- small downloads: two plain files, and an archive of a folder ----

mkdir -p "$served/plain" "$served/packed" "$work/make/tiny/deep"
head -c 300000 /dev/urandom >"$served/plain/a.bin"
head -c 5000 /dev/urandom >"$served/plain/b.bin"
head -c 200000 /dev/urandom >"$work/make/tiny/one"
printf 'two\n' >"$work/make/tiny/deep/two"
printf 'beside\n' >"$work/make/beside"
tar -C "$work/make" -czf "$served/packed/tiny.tar.gz" ./tiny beside

table() {
    cat >"$FUGUE_TEST_DOWNLOADS" <<END
[{"name": "plain", "files": [$(file_entry plain a.bin plain/a.bin),
                             $(file_entry plain b.bin other/b.bin)],
  "checks": [{"path": "plain/a.bin", "size": 300000}, {"path": "other/b.bin", "size": 5000}]},
 {"name": "packed", "files": [$(file_entry packed tiny.tar.gz sets/tiny \
        ', "take": "tiny", "unpacked": '"${1:-300000}")],
  "checks": [{"path": "sets/tiny", "files": 2}, {"path": "sets/tiny/one", "size": 200000}]}]
END
}
table
mirror ok

expect 0 prefetch --list
in_stdout "plain" "packed" "missing" "Files are looked for in $root"
[ ! -e "$root" ] || fail "$last: something was made"
asked . 0

expect 0 prefetch plain packed
in_stdout "plain: 0.3 MB fetched" "packed: 0.2 MB fetched"
whole plain/a.bin "$served/plain/a.bin"
whole other/b.bin "$served/plain/b.bin"
whole sets/tiny/one "$work/make/tiny/one"
whole sets/tiny/deep/two "$work/make/tiny/deep/two"
[ ! -e "$root/beside" ] && [ ! -e "$root/sets/beside" ] || fail "$last: more was taken than asked for"
[ -z "$(find "$root/.prefetch" -type f ! -name '*.lock')" ] || fail "$last: left: $(find "$root/.prefetch")"
asked . 3
expect 0 prefetch --list --json
in_stdout '"name": "plain"' '"state": "present"' '"bytes": 305000'
not_in_stdout missing

# What is present is not asked for again, offline or not.
FUGUE_OFFLINE=1 expect 0 prefetch plain packed
in_stdout "plain: present" "packed: present"
asked . 3
# One file that went missing is fetched alone; one that was cut is fetched again.
rm "$root/other/b.bin"
printf 'x' >"$root/plain/a.bin"
: >"$work/requests"
expect 0 prefetch plain
whole plain/a.bin "$served/plain/a.bin"
whole other/b.bin "$served/plain/b.bin"
asked . 2
rm "$root/other/b.bin"
: >"$work/requests"
expect 0 prefetch plain
asked . 1
# A folder with a file missing is completed; what is beside stays.
rm "$root/sets/tiny/deep/two"
printf 'mine\n' >"$root/sets/tiny/mine"
printf 'cut' >"$root/sets/tiny/one"
expect 0 prefetch packed
whole sets/tiny/one "$work/make/tiny/one"
whole sets/tiny/deep/two "$work/make/tiny/deep/two"
[ "$(cat "$root/sets/tiny/mine")" = mine ] || fail "$last: a file of the user's own is gone"

# ---- where to ----

forget
expect 0 prefetch plain --root "$work/elsewhere" --quiet
[ -s "$work/elsewhere/plain/a.bin" ] && [ ! -e "$root" ] || fail "$last: not in the folder asked for"
printf 'a file\n' >"$work/in_the_way"
expect 1 prefetch plain --root "$work/in_the_way"
in_stderr "cannot make the folder" "in_the_way"

# ---- offline, wrong words ----

forget
FUGUE_OFFLINE=yes expect 1 prefetch plain
in_stderr "FUGUE_OFFLINE forbids downloads"
asked . 0
nothing_in_place
expect 2 prefetch plian
in_stderr "'plian' cannot be fetched" "did you mean 'plain'" "packed"
expect 2 prefetch digits
in_stderr "nothing to fetch for data set 'digits'"
expect 2 prefetch --list --clean
in_stderr "give one"
expect 2 prefetch --exp X99
asked . 0

# Experiments name their sets; those that come with fugue need nothing.
expect 0 prefetch --exp D01 D02
asked . 0
expect 0 prefetch --all --json
in_stdout '"name": "plain"' '"name": "packed"' '"fetched_bytes": 305000'

# ---- archives ----

# bad_archive SENTENCE: the served archive is refused and leaves nothing; it need not come again.
bad_archive() {
    table "${2:-300000}"
    forget
    expect 1 prefetch packed
    in_stderr "fugue prefetch: error: packed: tiny.tar.gz: " "$1"
    nothing_in_place
    [ ! -e "$work/escaped" ] && [ ! -e /tmp/fugue_escaped ] || fail "$last: something escaped"
    [ ! -e "$root/.prefetch/packed/unpacked" ] || fail "$last: the temporary folder is left"
}
packed=$served/packed/tiny.tar.gz
cp -r "$work/make" "$work/evil"
cd "$work/evil" || exit 1

bad_archive "unpacks to more than the 100000 bytes" 100000
tar -czf "$packed" --transform='s,^beside$,../../../../escaped,' -P tiny beside
bad_archive "would lie outside the folder"
tar -czf "$packed" --transform='s,^beside$,tiny/../../../../../escaped,' -P tiny beside
bad_archive "would lie outside the folder"
tar -czf "$packed" --transform='s,^beside$,/tmp/fugue_escaped,' -P tiny beside
bad_archive "would lie outside the folder"
ln -s ../../.. tiny/up
tar -czf "$packed" tiny
bad_archive "'tiny/up' is a link"
rm tiny/up
ln -s / tiny/root
printf 'x' >escaped
tar -cf "$work/evil.tar" tiny
rm tiny/root
mkdir tiny/root
cp escaped tiny/root/escaped
tar -rf "$work/evil.tar" tiny/root/escaped
gzip -c "$work/evil.tar" >"$packed"
bad_archive "is a link"
rm -r tiny/root escaped
ln tiny/one tiny/same
tar -czf "$packed" tiny
bad_archive "is a link"
rm tiny/same
mkfifo tiny/pipe
tar -czf "$packed" tiny
bad_archive "is neither a file nor a folder"
rm tiny/pipe
tar -cf "$work/evil.tar" tiny
tar -rf "$work/evil.tar" tiny/one
gzip -c "$work/evil.tar" >"$packed"
bad_archive "comes twice"
# A bomb: 64 MB of zeros in a few kB, and the same as a sparse file.
head -c 64000000 /dev/zero >tiny/bomb
tar -czf "$packed" tiny
bad_archive "unpacks to more than"
truncate -s 64000000 tiny/sparse
rm tiny/bomb
tar -czSf "$packed" tiny
bad_archive "has not the size its head declares"
printf 'end' >>tiny/sparse
tar -czSf "$packed" tiny
bad_archive "unpacks to more than"
rm tiny/sparse
tar -czf "$packed" beside
bad_archive "has no 'tiny' in it"
# Cut in the middle, and no archive at all: with matching digests, so that only unpacking sees it.
tar -czf "$work/evil.tar.gz" tiny
head -c 100000 "$work/evil.tar.gz" >"$packed"
bad_archive "cannot be unpacked"
head -c 100000 /dev/urandom >"$packed"
bad_archive "cannot be unpacked"
: >"$work/requests"
expect 1 prefetch packed
asked . 0
cd "$work" || exit 1
# The right one again: its leftovers are of the same name and the wrong content.
tar -C "$work/make" -czf "$packed" tiny
table
expect 0 prefetch --clean packed
in_stdout "0.1 MB of interrupted downloads removed"
expect 0 prefetch packed
whole sets/tiny/one "$work/make/tiny/one"

# ---- the real table ----

fugue=$real_fugue
unset FUGUE_MIRROR
rm -rf "$root"
FUGUE_OFFLINE=1 expect 1 prefetch --exp E05
in_stderr "cal_housing: cal_housing.tgz: FUGUE_OFFLINE forbids downloads" "figshare"
FUGUE_OFFLINE=1 expect 1 prefetch
in_stderr "mnist: " "cifar10: " "wikitext: " "sst2: "
! grep -q "vgg16\|flowers" "$work/err" || fail "$last: fetches what no experiment needs"
expect 0 prefetch --list
in_stdout xlm_roberta vgg16 imagenette flowers102

finish
