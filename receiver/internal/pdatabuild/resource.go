package pdatabuild

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/flametel/flametel/receiver/internal/window"
)

// osType is the value of os.type on Linux.
const osType = "linux"

// fillResource writes the attributes of a process. What is empty is left out.
func fillResource(attrs pcommon.Map, p *window.Process, host string) {
	attrs.EnsureCapacity(10)
	attrs.PutInt(keyPID, int64(p.PID))
	putStr(attrs, keyExecutableName, p.Name)
	putStr(attrs, keyExecutablePath, p.ExecutablePath)
	putStr(attrs, keyCommandLine, p.CommandLine)
	putStr(attrs, keyCgroup, p.CgroupPath)
	putStr(attrs, keyContainerID, p.ContainerID)
	putStr(attrs, keyServiceName, p.ServiceName)
	fillHost(attrs, host)
}

func fillHost(attrs pcommon.Map, host string) {
	putStr(attrs, keyHostName, host)
	attrs.PutStr(keyOSType, osType)
}

func putStr(attrs pcommon.Map, key, value string) {
	if value != "" {
		attrs.PutStr(key, sanitize(value))
	}
}

// attributesBound is an upper bound of the encoded size of resource
// attributes. Marshalling moves their strings to the string table, so both the
// size in place and the size as table entries are counted.
func attributesBound(attrs pcommon.Map) int {
	const overhead = 32 // tags, lengths and indices of a key and a value
	n := 0
	for k, v := range attrs.All() {
		n += 2*len(k) + overhead
		if v.Type() == pcommon.ValueTypeStr {
			n += 2 * len(v.Str())
		}
	}
	return n
}
