package procmap

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// maxThreads bounds how many threads are asked for the mappings of a process
// whose first thread has exited.
const maxThreads = 64

// Read returns the executable mappings of a process, procRoot being where
// procfs is mounted. The maps of a process are empty once its first thread has
// exited although others go on running; they are then read from one of these.
// No mapping and no error is what kernel threads and zombies have.
func Read(procRoot string, pid int) ([]Mapping, error) {
	dir := filepath.Join(procRoot, strconv.Itoa(pid))
	ms, err := readFile(filepath.Join(dir, "maps"))
	if len(ms) > 0 || err != nil {
		return ms, err
	}
	for _, tid := range OtherThreads(procRoot, pid) {
		ms, err := readFile(filepath.Join(dir, "task", strconv.Itoa(tid), "maps"))
		if err == nil && len(ms) > 0 {
			return ms, nil
		}
	}
	return nil, nil
}

func readFile(name string) ([]Mapping, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read mappings: %w", err)
	}
	defer f.Close()
	seen := time.Now()
	ms, err := Parse(f)
	for i := range ms {
		ms[i].Seen = seen
	}
	return ms, err
}

// OtherThreads returns the IDs of some threads of a process, but not its
// first, whose memory, root and program cannot be seen once it has exited.
func OtherThreads(procRoot string, pid int) []int {
	d, err := os.Open(filepath.Join(procRoot, strconv.Itoa(pid), "task"))
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxThreads) // a process that ends meanwhile has none
	var tids []int
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil && tid != pid {
			tids = append(tids, tid)
		}
	}
	return tids
}
