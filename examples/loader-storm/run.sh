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
started=()
stop_all() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	started=()
}
trap 'stop_all; rm -rf "$dir"' EXIT

"$here/build.sh" "$dir"

# Starts $1 by the command that the other arguments are, and sets server and url.
start_server() {
	local name="$1"
	shift
	rm -f "$dir/port"
	"$@" env "LD_LIBRARY_PATH=$(cat "$dir/search-path")" "$dir/$name" 0 >"$dir/port" &
	server=$!
	started+=("$server")
	until [ -s "$dir/port" ]; do sleep 0.05; done
	url="http://127.0.0.1:$(cat "$dir/port")/"
}

# Starts a recording of the server and waits until it records.
start_recording() {
	"$flametel" record -p "$server" -d 1h --type syscalls,file_opens -o "$1" 2>"$dir/messages" &
	recorder=$!
	started+=("$recorder")
	until grep -q '^recording ' "$dir/messages"; do sleep 0.05; done
}

stop_recording() {
	kill -TERM "$recorder"
	wait "$recorder" || true
}

kernel_ticks() { cut -d ' ' -f 15 "/proc/$server/stat"; }
asked() { awk '/requests in/ { print $1 }' "$dir/wrk"; }
say() { printf '    %-34s %s\n' "$1" "$2"; }

for name in storm storm-fixed; do
	echo "$name"

	# Latency and kernel time, with nothing attached.
	start_server "$name"
	wrk -t1 -c4 -d2s "$url" >/dev/null
	before="$(kernel_ticks)"
	wrk -t1 -c4 "-d${seconds}s" --latency "$url" >"$dir/wrk"
	after="$(kernel_ticks)"
	say "requests/s" "$(awk '/Requests\/sec/ { print $2 }' "$dir/wrk")"
	say "p50" "$(awk '$1 == "50%" { print $2 }' "$dir/wrk")"
	say "p99" "$(awk '$1 == "99%" { print $2 }' "$dir/wrk")"
	say "kernel time, us a request" \
		"$(awk -v t="$((after - before))" -v n="$(asked)" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%.1f", t / hz / n * 1e6 }')"

	# The same under a profile: what it sees, and what it costs.
	start_recording "$pictures/$name.svg"
	wrk -t1 -c4 "-d${seconds}s" --latency "$url" >"$dir/wrk"
	stop_recording
	say "p99 while it is recorded" "$(awk '$1 == "99%" { print $2 }' "$dir/wrk")"

	# Calls of a request, which is one sendto: by us, then by strace, over a whole
	# life of the server.
	start_recording "$dir/calls.folded"
	wrk -t1 -c1 -d3s "$url" >"$dir/wrk"
	stop_recording
	say "openat calls a request, flametel" \
		"$(awk '/;syscall:openat_\[k\] / { opens += $NF } /;syscall:sendto_\[k\] / { answers += $NF }
			END { printf "%.2f", opens / answers }' "$dir/calls.folded")"
	stop_all
	start_server "$name" strace -f -c -o "$dir/strace"
	wrk -t1 -c1 -d3s "$url" >"$dir/wrk"
	kill "$(pgrep -P "$server")"
	wait "$server" 2>/dev/null || true
	started=()
	say "openat calls a request, strace" "$(awk '$NF == "openat" { opens = $4 } $NF == "sendto" { answers = $4 } END { printf "%.2f", opens / answers }' "$dir/strace")"
done
echo "pictures: $(ls "$pictures"/storm*.svg | tr '\n' ' ')"
