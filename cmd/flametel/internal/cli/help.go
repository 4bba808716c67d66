package cli

// recordHelp is at most 60 lines of 100 columns: one screen.
const recordHelp = `Record where a Linux host spends its time, and write a flame graph that opens in any browser.

Usage:
  flametel record [flags] [-- command [argument]...]

Examples:
  flametel record                                   the whole host for 30 s
  flametel record -p 1234 -d 10 -o profile.svg      a process and its children, 10 s
  flametel record -o build.svg -- make -j8          a command from its start to its end
  flametel record --container 3f4e8c0d9a1b          a container, as docker ps shows it
  flametel record -o now.svg --diff before.svg      and what changed since another recording
  flametel record -o - | grep nginx                 folded stacks on standard output

Target (default: the whole host):
  -p, --pid PID               a process and its children; repeat it, or join with commas
      --cgroup PATH           a cgroup, such as /system.slice/nginx.service; repeat it
      --container ID          a container, by 12 to 64 digits of its ID; repeat it
  -a, --all                   the whole host
Sampling:
      --type KIND             cpu, off_cpu, syscalls, file_opens, file_reads, page_faults,
                              lock_contention, kernel_allocations, tcp_retransmits; repeat it, or
                              join with commas: others than the first in NAME-KIND.svg (default cpu)
  -d, --duration TIME         100ms to 24h, a number is seconds (default 30s, a command: to its end)
  -F, --frequency HZ          samples per second and CPU, 1 to 9999                   (default 99)
      --per-thread            tell threads of one name apart, by their IDs
      --demangle STYLE        C++ and Rust names: simple, full or none             (default simple)
      --no-inlines            do not look for inlined calls, which saves some work
      --drain-interval TIME   how often the kernel's counts are read, 10ms to 1m       (default 1s)
Output:
  -o, --output FILE           repeat it; FILE is replaced, - is standard output
                                        (default profile-NAME-DATE-TIME.svg, which replaces nothing)
  -f, --format FORMAT         svg, folded, pprof or speedscope      (default by FILE's extension:
                              .svg .folded .txt .pb.gz .pprof .speedscope.json; folded for -)
      --diff BASE             compare with this profile, in a second file, NAME.diff.svg
      --max-size MIB          limit of an SVG, which merges what is smallest; 0: none    (default 8)
      --json                  the summary as a line of JSON on standard output
      --open                  open the flame graph in a browser
      --dry-run               try whether it works, say what is missing, and exit
      --print-config          print the equivalent collector.yaml and exit
  -q, --quiet                 only warnings and errors
  -v, --verbose               also what components say, and how long things take
View:
      --include REGEX         only stacks with a function, process or thread that matches
      --exclude REGEX         no stacks with a function, process or thread that matches
      --kernel                only frames of the kernel
      --user                  only frames of programs
      --idle                  show the time of idle CPUs
      --merge WHAT            stacks begin with process, thread or none            (default process)
      --threads               the same as --merge thread
      --title TEXT            title of the flame graph
      --layout LAYOUT         icicle (root at the top) or flame (at the bottom)   (default icicle)
      --no-annotations        folded stacks without _[k] kernel, _[j] JIT and _[i] inlined

Signals: Ctrl-C writes what there is and ends, a second one quits at once; SIGUSR1 writes the files
and goes on. A command keeps its standard input and output, and gets all signals but SIGUSR1.
Exit codes: 0 recorded, 1 failure, 2 wrong usage, 3 no samples, 4 privileges are missing, 130 and
143 interrupted, and written if sampling had begun; with a command its own, or 128 + the signal that
ended it, 125 failure, 126 not executable, 127 not found.
Privileges: root, or CAP_BPF and CAP_PERFMON; CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG and
CAP_CHECKPOINT_RESTORE to name all functions. Environment: BROWSER is what --open runs.
`

const topHelp = `Show live which functions, files and processes use the CPUs of a Linux host.

Usage:
  flametel top [flags]

Examples:
  flametel top                                      the whole host, until you press q
  flametel top -p 1234                              a process and its children
  flametel top --once -i 10 --view modules          print one table of 10 s and exit
  flametel top -n 60 -i 5 --filter nginx >log       a table each 5 s, for 5 minutes

Target (default: the whole host):
  -p, --pid PID               a process and its children; repeat it, or join with commas
      --cgroup PATH           a cgroup, such as /system.slice/nginx.service; repeat it
      --container ID          a container, by 12 to 64 digits of its ID; repeat it
  -a, --all                   the whole host
Sampling:
  -F, --frequency HZ          samples per second and CPU, 1 to 9999                   (default 99)
      --demangle STYLE        C++ and Rust names: simple, full or none             (default simple)
      --no-inlines            do not look for inlined calls, which saves some work
Table:
  -i, --interval TIME         how often it is renewed, 200ms to 1m                     (default 2s)
      --span TIME             how much time it covers, up to 10m   (default 10s, printed: interval)
      --view WHAT             functions, modules (files) or processes           (default functions)
      --sort WHAT             self (samples ended there) or total (also in callees)  (default self)
      --filter REGEX          only lines whose function, module or process matches
      --once                  print one table as text and exit
  -n, --iterations N          print N tables as text and exit
      --rows N                lines of a printed table                                (default 20)
  -h, --help                  print this

Keys: s self, t total, v view, / filter, Enter zoom into a process, Esc back, Space pause,
w write a flame graph of the last minute, arrows and page keys move, ? help, q quit.
Percentages are of the samples of the time shown; idle CPUs give none.
Exit codes: 0 left, 1 failure, 2 wrong usage, 3 printed tables had no samples, 4 privileges are
missing, 130 and 143 interrupted and terminated.
Privileges: as for flametel record, which flametel record --dry-run checks.
`

const symbolsHelp = `Show what names the code of a file or process has, where they come from, and why code has none.

Usage:
  flametel symbols [flags] FILE [ADDRESS]...
  flametel symbols [flags] -p PID [ADDRESS]...

Examples:
  flametel symbols /usr/bin/python3                 build ID, code, and what symbols were found
  flametel symbols ./prog 0x1139 0x2040             functions, inlined calls and lines
  sudo flametel symbols -p 1234                     all files that a process runs code of
  sudo flametel symbols -p 1234 7f3c00401139        a virtual address of it

Addresses are hexadecimal: of a FILE as nm prints them, of a process virtual ones. They are looked
up as they are; for a return address ask for one less. Please add the output to reports about names.

Flags:
  -p, --pid PID               a process instead of a file
      --demangle STYLE        names of C++ and Rust: simple, full or none          (default simple)
      --no-inlines            leave inlined calls and debug information out
      --debug-dir FOLDER      where separate debug files are; repeat it    (default /usr/lib/debug)
  -h, --help                  print this
`
