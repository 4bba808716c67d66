package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/receiver"
)

func TestEachTypeHasAFile(t *testing.T) {
	t.Parallel()
	paths := func(types []string, out output) (list []string) {
		o := Options{Types: types}
		for _, out := range o.expand(out) {
			list = append(list, out.path+" "+out.sampleType)
		}
		return list
	}
	assert.Equal(t, []string{"a.svg "}, paths([]string{"cpu"}, output{path: "a.svg"}))
	assert.Equal(t, []string{"a.svg off_cpu", "a-events.svg events"}, paths([]string{"off_cpu"}, output{path: "a.svg"}))
	assert.Equal(t, []string{"a.svg cpu", "a-page_faults.svg faults"}, paths([]string{"cpu", "page_faults"}, output{path: "a.svg"}))
	assert.Equal(t, []string{
		"a.svg off_cpu", "a-off_cpu-events.svg events", "a-lock_contention.svg waits", "a-lock_contention-wait_time.svg wait_time",
	}, paths([]string{"off_cpu", "lock_contention"}, output{path: "a.svg"}))
	assert.Equal(t, []string{"d.x/a opens", "d.x/a-open_time open_time"}, paths([]string{"file_opens"}, output{path: "d.x/a", format: "folded"}))
	assert.Equal(t, []string{"a.pb.gz "}, paths([]string{"cpu", "syscalls"}, output{path: "a.pb.gz"}))
	assert.Equal(t, []string{"- reads"}, paths([]string{"file_reads"}, output{path: "-"}))
	assert.Equal(t, []string{"/dev/null syscalls"}, paths([]string{"syscalls"}, output{path: "/dev/null", format: "svg"}))
	assert.Equal(t, []string{"/dev/null syscalls"}, paths([]string{"syscalls", "cpu"}, output{path: "/dev/null", format: "svg"}))
	o := Options{Types: []string{"off_cpu", "cpu"}}
	assert.Equal(t, "a.diff.svg", o.expand(output{path: "a.svg", twin: "a.diff.svg"})[0].twin)
}

// No two kinds, nor types of one, have a file of one name.
func TestFilesOfAllKindsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	o := Options{Types: Kinds()}
	for _, out := range o.expand(output{path: "a.svg"}) {
		assert.False(t, seen[out.path], out.path)
		seen[out.path] = true
	}
	assert.Len(t, seen, len(o.sampleTypes()))
}

// Every kind of the receiver can be recorded, and only those that are asked for
// are on.
func TestKindsAreThoseOfTheReceiver(t *testing.T) {
	t.Parallel()
	f := receiver.NewFactory().(xreceiver.Factory)
	for _, k := range kinds() {
		o := Options{Types: []string{k.name}, Frequency: 99, DrainInterval: DefaultDrain, Demangle: DefaultDemangle}
		cfg := o.receiverConfig(f, nil)
		assert.NoError(t, cfg.Validate(), k.name)
		on := map[string]bool{
			"cpu": cfg.CPU.Enabled, "off_cpu": cfg.OffCPU.HasValue(), "syscalls": cfg.Syscalls.HasValue(),
			"file_opens": cfg.FileOpens.HasValue(), "file_reads": cfg.FileReads.HasValue(), "page_faults": cfg.PageFaults.HasValue(),
			"lock_contention": cfg.LockContention.HasValue(), "kernel_allocations": cfg.KernelAllocations.HasValue(),
			"tcp_retransmits": cfg.TCPRetransmits.HasValue(),
		}
		assert.Len(t, on, len(kinds()))
		for name, is := range on {
			assert.Equal(t, name == k.name, is, "%s when %s is asked for", name, k.name)
		}
		assert.Contains(t, k.types, k.counted)
		for _, sampleType := range k.types {
			assert.NotEmpty(t, meanings[sampleType], sampleType)
		}
	}
}

func TestHowItIsRecorded(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "at 99 Hz", (&Options{Types: []string{"cpu"}, Frequency: 99}).how())
	assert.Equal(t, "(off_cpu, cpu at 49 Hz)", (&Options{Types: []string{"off_cpu", "cpu"}, Frequency: 49}).how())
	assert.Equal(t, "(syscalls)", (&Options{Types: []string{"syscalls"}, Frequency: 49}).how())
}
