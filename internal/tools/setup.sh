#!/usr/bin/env bash
# Installs the Debian packages that a make target needs, each only if what it brings is absent, and
# for tests the packages of internal/tools/npm.
#
#   setup.sh run | test | generate | lint | bench | gallery | kernels
#
# Says nothing when nothing is missing. `apt-get update` runs only before an installation.
set -euo pipefail

PATH="$PATH:/usr/sbin:/sbin"
export DEBIAN_FRONTEND=noninteractive

# What the probe looks for (a command, or a file if it begins with a slash) and the package.
readonly generate_needs="
clang-14                          clang-14
llvm-strip-14                     llvm-14
/usr/include/bpf/bpf_helpers.h    libbpf-dev
/usr/include/linux/types.h        linux-libc-dev"

readonly bench_needs="
bpftrace                          bpftrace
gcc                               gcc
/usr/include/stdio.h              libc6-dev
nginx                             nginx-light
/usr/bin/node                     nodejs
perf                              linux-perf
/usr/bin/python3                  python3
strace                            strace
/usr/share/perl5/Devel/NYTProf/flamegraph.pl libdevel-nytprof-perl
wrk                               wrk"

readonly gallery_needs="
chromium                          chromium"

readonly test_needs="
/etc/ssl/certs/ca-certificates.crt ca-certificates
as                                binutils
bpftool                           bpftool
aarch64-linux-gnu-gcc             gcc-aarch64-linux-gnu
/usr/aarch64-linux-gnu/include/stdio.h libc6-dev-arm64-cross
chromium                          chromium
groff                             groff-base
clang++-14                        clang-14
debuginfod                        debuginfod
dwz                               dwz
firefox-esr                       firefox-esr
fish                              fish
g++                               g++
gdb                               gdb
javac                             default-jdk-headless
mount                             mount
musl-gcc                          musl-tools
npm                               npm
openssl                           openssl
prometheus                        prometheus
ps                                procps
rustc                             rustc
unshare                           util-linux
xmllint                           libxml2-utils
xz                                xz-utils
zsh                               zsh"

# Compiling and fetching modules is all that `run` does besides running.
readonly run_needs="
/etc/ssl/certs/ca-certificates.crt ca-certificates"

readonly kernels_needs="
aarch64-linux-gnu-gcc             gcc-aarch64-linux-gnu
/usr/aarch64-linux-gnu/include/stdio.h libc6-dev-arm64-cross
cpio                              cpio
gcc                               gcc
qemu-system-aarch64               qemu-system-arm
qemu-system-x86_64                qemu-system-x86
/usr/share/seabios                seabios"

readonly lint_needs="
clang-format-14                   clang-format-14"

needs_of() {
	case "$1" in
	run) echo "$run_needs" ;;
	generate) echo "$generate_needs" ;;
	bench) echo "$bench_needs" ;;
	gallery) echo "$bench_needs$gallery_needs" ;;
	kernels) echo "$kernels_needs" ;;
	lint) echo "$lint_needs" ;;
	test) echo "$generate_needs$bench_needs$test_needs" ;;
	*)
		echo "setup.sh: no such target: $1" >&2
		exit 2
		;;
	esac
}

present() {
	case "$1" in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# Runs a command, once more if it fails, and shows what it printed only if it fails twice.
quietly() {
	local log
	log="$(mktemp)"
	if ! "$@" >"$log" 2>&1 && ! { sleep 3 && "$@" >"$log" 2>&1; }; then
		tail -n 30 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

# Installs what tests take from npm into .tools/npm: what the lockfile says, and nothing that runs.
npm_packages() {
	local from=internal/tools/npm to=.tools/npm
	! cmp -s "$from/package-lock.json" "$to/package-lock.json" || return 0
	echo "installing the packages of $from"
	rm -rf "$to" "$to.new"
	mkdir -p "$to.new"
	cp "$from"/package*.json "$to.new"
	quietly npm --prefix "$to.new" ci --ignore-scripts --no-audit --no-fund
	mv "$to.new" "$to"
}

main() {
	local wanted probe package missing=()
	wanted="$(needs_of "${1:?usage: setup.sh run|test|generate|lint|bench|gallery|kernels}")"
	while read -r probe package; do
		[ -z "$probe" ] || present "$probe" || missing+=("$package")
	done <<<"$wanted"
	[ "${#missing[@]}" -gt 0 ] || return 0

	if ! command -v apt-get >/dev/null; then
		echo "setup.sh: missing: ${missing[*]} (no apt-get here: install them by hand)" >&2
		exit 1
	fi
	if [ "$(id -u)" -ne 0 ]; then
		echo "setup.sh: missing: ${missing[*]} (run as root, or: sudo apt-get install ${missing[*]})" >&2
		exit 1
	fi
	echo "installing ${missing[*]}"
	quietly apt-get -qq update
	quietly apt-get -qq -y --no-install-recommends install "${missing[@]}"
}

main "$@"
[ "$1" != test ] || npm_packages
