// Package perfscript reads the text that perf script prints of a recording:
//
//	nginx  1234/1235 [001] 1234.567890:   10101010 cpu-clock:pppH:
//		ffffffff81234567 ksys_read+0x7 ([kernel.kallsyms])
//		    7f1234567890 __libc_read+0x10 (/usr/lib/libc.so.6)
//		    55d0c0001139 main+0x9 (/usr/sbin/nginx)
//
// Any choice of fields (perf script -F) is read that has the name of the thread,
// an ID and the event; without call chains a sample has the one frame on its own
// line. Each event is one graph, and each sample counts as one, as in perf's own
// flame graphs. The name of a thread stands where other formats have that of the
// process, which perf script does not print.
package perfscript
