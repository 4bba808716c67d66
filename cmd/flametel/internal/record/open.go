package record

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// open shows the flame graph, or the first file if there is none. That it cannot
// be shown is no failure of the recording.
func (r *recording) open() {
	at := slices.IndexFunc(r.outputs, func(o output) bool { return o.kind() == "svg" && o.path != stdoutPath })
	if at < 0 {
		at = slices.IndexFunc(r.outputs, func(o output) bool { return o.path != stdoutPath })
	}
	if at < 0 {
		r.Messages.Printf("flametel: warning: --open: there is no file to show")
		return
	}
	files := r.outputs[at].files()
	path, err := filepath.Abs(files[len(files)-1]) // the comparison, if there is one
	if err != nil {
		path = files[len(files)-1]
	}
	name := r.Getenv("BROWSER")
	switch {
	case name != "":
	case r.Getenv("DISPLAY") == "" && r.Getenv("WAYLAND_DISPLAY") == "":
		r.Messages.Printf("flametel: warning: --open: there is no display here; copy %s to where a browser is, or set BROWSER", terminal.Escape(path))
		return
	default:
		name = "xdg-open"
	}
	cmd := exec.Command(name, path)
	if uid, gid, yes := r.caller(); yes {
		runAs(cmd, uid, gid) // browsers refuse to run as root
	}
	if err := cmd.Start(); err != nil {
		r.Messages.Printf("flametel: warning: --open: %s; open %s yourself", terminal.Escape(err.Error()), terminal.Escape(path))
		return
	}
	// It lives on without us; its end is nobody's business.
	_ = cmd.Process.Release()
}

// caller is the user who called sudo.
func (s *Settings) caller() (uid, gid uint32, yes bool) {
	u, err1 := strconv.ParseUint(s.Getenv("SUDO_UID"), 10, 32)
	g, err2 := strconv.ParseUint(s.Getenv("SUDO_GID"), 10, 32)
	if err1 != nil || err2 != nil || u == 0 {
		return 0, 0, false
	}
	return uint32(u), uint32(g), true
}

// giveOutputs lets the user who called sudo read what was written: files have
// mode 0600, and no browser runs as root.
func (r *recording) giveOutputs() {
	uid, gid, yes := r.caller()
	if !yes {
		return
	}
	for _, o := range r.present() {
		if o.path == stdoutPath || isDevice(o.path) {
			continue
		}
		for _, path := range o.files() {
			if err := give(path, uid, gid, r.began); err != nil {
				r.Messages.Printf("flametel: warning: %s stays root's: %s", terminal.Escape(path), terminal.Escape(err.Error()))
			}
		}
	}
}
