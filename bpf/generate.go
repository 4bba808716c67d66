package bpf

// The objects are committed. They are made with the clang of Debian 12, so
// that the same source gives the same bytes; a test makes them again and
// compares.

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf -type ft_count_key -type ft_count -type ft_chunk -type ft_stats -type ft_target -type ft_space -type ft_mapping profile src/profile.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf targets src/targets.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf ksym src/ksym.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf unwind src/unwind.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf offCPU src/off_cpu.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf -type ft_cell syscalls src/syscalls.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf fileOpens src/file_opens.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf fileReads src/file_reads.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf pageFaults src/page_faults.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf lockContention src/lock_contention.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf kernelAllocations src/kernel_allocations.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf tcpRetransmits src/tcp_retransmits.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target amd64,arm64 -go-package bpf -type ft_event -type ft_call_times -type ft_caller_key -type ft_caller stream src/stream.bpf.c -- -O2 -Wall -Werror -mcpu=v3 -I src/include -I /usr/include/x86_64-linux-gnu
