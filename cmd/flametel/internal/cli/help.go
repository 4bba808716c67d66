package cli

// recordHelp is at most 60 lines of 100 columns: one screen.
const recordHelp = `Record where a Linux host spends its CPU time, and write a flame graph that opens in any browser.

Usage:
  flametel record [flags] [-- command [argument]...]

Examples:
  flametel record                                   the whole host for 30 s
  flametel record -d 10 -o profile.svg              10 s, into a file of your choice
  flametel record -p 1234 -p 5678                   two processes and their children
  flametel record -o build.svg -- make -j8          a command from its start to its end
  flametel record -o a.svg -o a.pb.gz               one recording, two outputs
  flametel record -o - | grep nginx                 folded stacks on standard output
  flametel record -p 1234 --print-config            the same as a collector's configuration

What to record:
  -p, --pid PID               only this process and its children; repeat it, or join with commas
      --type cpu              what to sample: cpu                                    (default cpu)
  -d, --duration TIME         100ms to 24h; a bare number is seconds
                                        (default 30s; with a command: until it ends)
  -F, --frequency HZ          samples per second and CPU, 1 to 9999                   (default 99)
      --drain-interval TIME   how often the kernel's counts are read, 10ms to 1m       (default 1s)

Where to write it:
  -o, --output FILE           repeat it for several; FILE is replaced, - is standard output
                                        (default profile-NAME-DATE-TIME.svg, which replaces nothing)
  -f, --format FORMAT         svg, folded, pprof or speedscope      (default by FILE's extension:
                              .svg .folded .txt .pb.gz .pprof .speedscope.json; folded for -)
      --title TEXT            title of the flame graph
      --layout LAYOUT         icicle (root at the top) or flame (at the bottom)   (default icicle)
      --no-annotations        folded stacks without _[k] kernel, _[j] JIT and _[i] inlined

Others:
      --print-config          print the equivalent collector.yaml and exit
  -q, --quiet                 print only warnings and errors
  -h, --help                  print this

Ctrl-C ends a recording early and writes what there is; a second Ctrl-C quits at once.
A command keeps its standard input and output, and gets the signals that flametel gets.

Exit codes:
  0  recorded                        4    privileges are missing
  1  failure                         125  failure while running a command
  2  wrong usage                     126  the command cannot be executed
  3  no samples                      127  there is no such command
  130, 143  interrupted or terminated, and written
  With a command that was run and recorded: its own, or 128 + the signal that ended it.

Privileges: root, or CAP_BPF and CAP_PERFMON to sample, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH to
name the functions of other users' programs, and CAP_SYSLOG to name those of the kernel.
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
