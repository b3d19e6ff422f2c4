# shellcheck shell=bash source=tests/cli/lib.sh
# What the tests of `fugue prefetch` share, on top of lib.sh: a web server on the loopback, and
# fugue with a table of small downloads of the test's own.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
tools=${FUGUE_TEST_TOOLS:?set FUGUE_TEST_TOOLS to the folder of tool_server and tool_prefetch}
real_fugue=$fugue
fugue=$tools/tool_prefetch
export FUGUE_TEST_DOWNLOADS=$work/downloads.json FUGUE_DATA_DIR=$work/root
unset FUGUE_MIRROR http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
root=$work/root
served=$work/served
mkdir -p "$served"
: >"$work/requests"

"$tools/tool_server" "$served" "$work/port" "$work/requests" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 500); do
    [ -s "$work/port" ] && break
    sleep 0.02
done
base=http://127.0.0.1:$(cat "$work/port")

size_of() {
    stat -c %s "$1"
}
md5_of() {
    md5sum "$1" | cut -d' ' -f1
}
sha256_of() {
    sha256sum "$1" | cut -d' ' -f1
}

# mirror MODE...: where prefetch asks, and how it is answered.
mirror() {
    local m list=
    for m in "$@"; do
        list="$list $base/$m"
    done
    export FUGUE_MIRROR=$list
}

# forget: no root, no requests.
forget() {
    rm -rf "$root"
    : >"$work/requests"
}

# file_entry SET NAME PLACE [MORE]: a file of the table, with its true size and digests.
file_entry() {
    local f=$served/$1/$2
    printf '{"name": "%s", "size": %s, "md5": "%s", "sha256": "%s", "place": "%s"%s}' "$2" \
        "$(size_of "$f")" "$(md5_of "$f")" "$(sha256_of "$f")" "$3" "${4:-}"
}

# asked PATTERN N: so many requests match.
asked() {
    local n
    n=$(grep -cE -- "$1" "$work/requests")
    [ "$n" -eq "$2" ] || fail "$last: $n requests match '$1', expected $2: $(head -5 "$work/requests")"
}

# nothing_in_place: of the set, nothing outside .prefetch.
nothing_in_place() {
    local found
    found=$(cd "$root" 2>/dev/null && find . -path ./.prefetch -prune -o -type f -print)
    [ -z "$found" ] || fail "$last: in place: $found"
}

# whole FILE: what lies under the root is what was served.
whole() {
    cmp -s "$root/$1" "$2" || fail "$last: $1 is not what was served"
}
