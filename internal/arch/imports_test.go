package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/flametel/flametel"

// collector is the prefix of every module of the OpenTelemetry Collector.
const collector = "go.opentelemetry.io/collector"

// A rule forbids the packages below `from` to depend on packages below any of
// `never`, directly or through others.
type rule struct {
	from  string
	never []string
	why   string
}

var rules = []rule{
	{
		from:  module + "/exporter",
		never: []string{module + "/bpf", module + "/symbolize", module + "/receiver", module + "/cmd", "github.com/cilium/ebpf"},
		why:   "the exporter serves any source of OTLP profiles, a gateway without privileges included",
	},
	{
		from:  module + "/symbolize",
		never: []string{module + "/bpf", module + "/receiver", module + "/exporter", module + "/cmd", "github.com/cilium/ebpf", collector},
		why:   "naming addresses is bytes in, facts out",
	},
	{
		from:  module + "/bpf",
		never: []string{module + "/receiver", module + "/exporter", module + "/cmd", collector},
		why:   "raw samples know no collector",
	},
	{
		from:  module + "/receiver",
		never: []string{module + "/exporter", module + "/cmd"},
		why:   "what becomes of profiles is the pipeline's business",
	},
}

// bpfOnlyNeeds are the packages of symbolize that bpf may use: the row layout
// of unwind tables is made from ELF files, addresses have one vocabulary.
var bpfOnlyNeeds = []string{
	module + "/symbolize/addr",
	module + "/symbolize/elffile",
	module + "/symbolize/gosym",
}

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	packages := list(t)
	for _, r := range rules {
		var seen bool
		for path, deps := range packages {
			if !below(path, r.from) {
				continue
			}
			seen = true
			for _, dep := range deps {
				for _, never := range r.never {
					assert.False(t, below(dep, never), "%s depends on %s, but %s", path, dep, r.why)
				}
			}
		}
		assert.True(t, seen, "no package below %s: the rule watches nothing", r.from)
	}
}

func TestBPFUsesOnlyFileAndAddressPackagesOfSymbolize(t *testing.T) {
	t.Parallel()
	for path, deps := range list(t) {
		if !below(path, module+"/bpf") {
			continue
		}
		for _, dep := range deps {
			if below(dep, module+"/symbolize") {
				assert.Contains(t, bpfOnlyNeeds, dep, "%s depends on %s", path, dep)
			}
		}
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	assert.True(t, below("a/b", "a/b"))
	assert.True(t, below("a/b/c", "a/b"))
	assert.False(t, below("a/bc", "a/b"))
	assert.False(t, below("a", "a/b"))
}

// list returns all packages of the module as built for Linux, without tests,
// with everything they depend on.
func list(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps=false", "-json=ImportPath,Deps", module+"/...")
	cmd.Env = append(cmd.Environ(), "GOOS=linux")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	require.NoError(t, err)

	packages := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages[p.ImportPath] = p.Deps
	}
}

func below(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// TestCommandsRunComponents looks at direct imports, because commands depend
// on everything through the components.
func TestCommandsRunComponents(t *testing.T) {
	t.Parallel()
	may := map[string]string{
		module + "/cmd/flametel/internal/symbols": module + "/symbolize", // a tool for looking in
		module + "/cmd/flametel/internal/unwind":  module + "/symbolize", // another
		module + "/cmd/flametel/internal/cli":     module + "/symbolize/demangle",
	}
	for path, imports := range directImports(t) {
		if !below(path, module+"/cmd") {
			continue
		}
		for _, imported := range imports {
			looksAtRows := path == module+"/cmd/flametel/internal/unwind" && imported == module+"/bpf/unwind"
			assert.False(t, below(imported, module+"/bpf") && !looksAtRows, "%s imports %s", path, imported)
			if below(imported, module+"/symbolize") {
				allowed, ok := may[path]
				assert.True(t, ok && below(imported, allowed), "%s imports %s", path, imported)
			}
		}
	}
}

func directImports(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"/cmd/...")
	cmd.Env = append(cmd.Environ(), "GOOS=linux")
	out, err := cmd.Output()
	require.NoError(t, err)
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		packages[words[0]] = words[1:]
	}
	require.NotEmpty(t, packages)
	return packages
}
