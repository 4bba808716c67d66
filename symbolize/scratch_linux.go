package symbolize

import "golang.org/x/sys/unix"

// freeBytes is how much may be written to the file system of a folder.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
