#!/usr/bin/env bash
# Runs the server and its fixed twin under the same load, and shows what each
# request costs. Needs root, gcc, wrk and strace, and bin/flametel (make build).
#
#   run.sh [SECONDS [FOLDER]]     SECONDS of load for each figure; pictures go to FOLDER
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
flametel="${FLAMETEL:-$here/../../bin/flametel}"
seconds="${1:-10}"
pictures="$(mkdir -p "${2:-.}" && cd "${2:-.}" && pwd)"
dir="$(mktemp -d)"
server=""
stop_server() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	server=""
}
trap 'stop_server; rm -rf "$dir"' EXIT

"$here/build.sh" "$dir"
LD_LIBRARY_PATH="$(cat "$dir/search-path")"
export LD_LIBRARY_PATH

# Starts $1 under the command of the other arguments and sets server and url.
start_server() {
	local name="$1"
	shift
	"$@" "$dir/$name" 0 >"$dir/port" &
	server=$!
	until [ -s "$dir/port" ]; do sleep 0.05; done
	url="http://127.0.0.1:$(cat "$dir/port")/"
}

kernel_ticks() { cut -d ' ' -f 15 "/proc/$server/stat"; }

for name in storm storm-fixed; do
	echo "== $name"

	# Latency and kernel time, with nothing attached.
	start_server "$name"
	wrk -t1 -c4 -d2s "$url" >/dev/null
	before="$(kernel_ticks)"
	wrk -t1 -c4 "-d${seconds}s" --latency "$url" >"$dir/wrk"
	after="$(kernel_ticks)"
	grep -E '50%|99%|requests in' "$dir/wrk"
	requests="$(awk '/requests in/ { print $1 }' "$dir/wrk")"
	awk -v t="$((after - before))" -v n="$requests" -v hz="$(getconf CLK_TCK)" \
		'BEGIN { printf "    kernel time    %.1f us a request\n", t / hz / n * 1e6 }'

	# Pictures, under the same load.
	wrk -t1 -c4 "-d$((seconds + 4))s" "$url" >/dev/null &
	load=$!
	sleep 1
	"$flametel" record -q -p "$server" -d "$seconds" --type syscalls,file_opens -o "$pictures/$name.svg"
	wait "$load"
	stop_server

	# Calls by the book: all of a life with one connection, which strace slows down.
	start_server "$name" strace -f -c -o "$dir/strace"
	wrk -t1 -c1 -d3s "$url" >"$dir/wrk"
	kill -INT "$server"
	wait "$server" || true
	server=""
	requests="$(awk '/requests in/ { print $1 }' "$dir/wrk")"
	awk -v n="$requests" '$NF == "openat" || $NF == "total" { printf "    %-14s %.1f calls a request (strace)\n", $NF, $4 / n }' "$dir/strace"
done
echo "pictures: $(ls "$pictures"/storm*.svg | tr '\n' ' ')"
