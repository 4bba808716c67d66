package record

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tick is how far the kernel's clock for the times of files may be behind: the time
// between two interrupts of its timer, at 100 in a second.
const tick = 10 * time.Millisecond

// give makes a file that was written since a time another user's. One that others
// have put in its place, or have another name for, is left alone.
func give(path string, uid, gid uint32, since time.Time) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	const mode = unix.S_IFREG | 0o600 // as the exporter makes files
	old := time.Unix(st.Mtim.Unix()).Before(since.Add(-tick).Truncate(time.Second))
	if st.Mode != mode || st.Nlink != 1 || int(st.Uid) != os.Geteuid() || old {
		return errors.New("it is not the file that was written")
	}
	return unix.Fchown(int(f.Fd()), int(uid), int(gid))
}

// runAs makes a command run as another user, in a session of its own.
func runAs(cmd *exec.Cmd, uid, gid uint32) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
}
