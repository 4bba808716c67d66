#!/usr/bin/env bash
# Builds the server, its fixed twin and what they load.
#
#   build.sh FOLDER
#
# FOLDER/path holds sixteen folders, of which the last holds the plugin and the
# libraries that it needs: FOLDER/search-path is what LD_LIBRARY_PATH has to be.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
to="$(mkdir -p "${1:?usage: build.sh FOLDER}" && cd "$1" && pwd)"
flags=(-O2 -g -fno-omit-frame-pointer)

path=""
for i in $(seq -w 1 16); do
	mkdir -p "$to/path/$i"
	path="$path${path:+:}$to/path/$i"
done
printf '%s' "$path" >"$to/search-path"

needed=()
for i in 1 2 3 4 5 6 7; do
	gcc "${flags[@]}" -shared -fPIC "-DPART=part_$i" -o "$to/path/16/libpart$i.so" "$here/part.c"
	needed+=("-lpart$i")
done
gcc "${flags[@]}" -shared -fPIC -o "$to/path/16/libpage.so" "$here/plugin.c" "-L$to/path/16" "${needed[@]}"
gcc "${flags[@]}" -o "$to/storm" "$here/server.c" -lpthread -ldl
gcc "${flags[@]}" -DFIXED -o "$to/storm-fixed" "$here/server.c" -lpthread -ldl
