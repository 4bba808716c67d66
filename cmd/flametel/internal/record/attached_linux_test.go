package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAttachmentsAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ target, info, want string }{
		"perf event":     {"anon_inode:[perf_event]", "pos:\t0\n", "perf event"},
		"link":           {"anon_inode:bpf_link", "pos:\t0\nlink_type:\tperf\nlink_id:\t3\n", "BPF link (perf)"},
		"raw tracepoint": {"anon_inode:bpf_link", "link_type:\traw_tracepoint\ntp_name:\tsched_process_fork\n", "BPF link (raw tracepoint sched_process_fork)"},
		"program":        {"anon_inode:bpf-prog", "", "BPF program"},
		"map":            {"anon_inode:bpf-map", "", "BPF map"},
		"file":           {"/etc/passwd", "", ""},
	} {
		assert.Equal(t, test.want, attachmentKind(test.target, test.info), name)
	}
	list := attachments{"perf event": 6, "BPF link (perf)": 3, "BPF map": 1}.since(attachments{"perf event": 2, "BPF map": 1, "BPF link (perf)": 1})
	assert.Equal(t, "2 BPF links (perf), 4 perf events", list.String())
	assert.Equal(t, "nothing", attachments{}.String())
}
