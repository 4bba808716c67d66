package jitname

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParse(t *testing.T) {
	t.Parallel()
	js := func(name, tier, file string, line, column int64) Name {
		return Name{Runtime: V8, Name: name, Tier: tier, File: file, StartLine: line, Column: column}
	}
	of := func(r Runtime, name string) Name { return Name{Runtime: r, Name: name} }
	tests := []struct {
		raw     string
		process Runtime
		want    Name
	}{
		// V8, as node 20 writes them.
		{"JS:~inner /srv/my app.js:1:15", Other, js("inner", "interpreted", "/srv/my app.js", 1, 15)},
		{"JS:^inner /srv/my app.js:1:15", Other, js("inner", "baseline", "/srv/my app.js", 1, 15)},
		{"JS:+inner /srv/my app.js:1:15", Other, js("inner", "maglev", "/srv/my app.js", 1, 15)},
		{"JS:*inner /srv/my app.js:1:15", Other, js("inner", "turbofan", "/srv/my app.js", 1, 15)},
		{"JS:*'inner /srv/my app.js:1:15", Other, js("inner", "turbofan", "/srv/my app.js", 1, 15)},
		{"JS:~shouldColorize node:internal/util/colors:18:17", V8, js("shouldColorize", "interpreted", "node:internal/util/colors", 18, 17)},
		{"JS:~ node:internal/modules/cjs/loader:168:45", V8, js("(anonymous) node:internal/modules/cjs/loader:168:45", "interpreted", "node:internal/modules/cjs/loader", 168, 45)},
		{"JS:~ /srv/a.js:2:3", V8, js("(anonymous) a.js:2:3", "interpreted", "/srv/a.js", 2, 3)},
		{"Eval:~ node:stream/promises:1:1", V8, js("(script) node:stream/promises", "interpreted", "node:stream/promises", 1, 1)},
		{"Script:~ /srv/a.js:1:1", Other, js("(script) a.js", "interpreted", "/srv/a.js", 1, 1)},
		{"Script:/srv/a b.js", V8, js("(script) a b.js", "", "/srv/a b.js", 0, 0)},
		{"LazyCompile:~f /srv/a.js:2:3", Other, js("f", "interpreted", "/srv/a.js", 2, 3)},
		{"LazyCompile:*f file:///srv/a.mjs:2:3", Other, js("f", "turbofan", "file:///srv/a.mjs", 2, 3)},
		{"LazyCompile:*get size native collection.js:163", Other, js("get size", "turbofan", "native collection.js:163", 0, 0)},
		{"Function:~get size /srv/a.js:2:3", Other, js("get size", "interpreted", "/srv/a.js", 2, 3)},
		{"JS:~get /srv/a b.js:2:3", Other, js("get", "interpreted", "/srv/a b.js", 2, 3)},
		{"JS:~", Other, js("(anonymous)", "interpreted", "", 0, 0)},
		{"JS:~ü\xff; /srv/\x01.js:1:2", Other, js("ü\xff;", "interpreted", "/srv/\x01.js", 1, 2)},
		{"JS:f /srv/a.js:2:3", V8, js("f", "", "/srv/a.js", 2, 3)},
		{"JS:f /srv/a.js:2:3", Other, of(Other, "JS:f /srv/a.js:2:3")},
		{"JS: f (/srv/a.js:2:3)", Other, of(Other, "JS: f (/srv/a.js:2:3)")}, // SpiderMonkey
		{"Builtin:ArrayMap", Other, of(V8, "Builtin:ArrayMap")},
		{"BytecodeHandler:LdaZero.Wide", Other, of(V8, "BytecodeHandler:LdaZero.Wide")},
		{"RegExp:^a:b c$", Other, of(V8, "RegExp:^a:b c$")},
		{"wasm-function[3]", V8, of(V8, "wasm-function[3]")},
		{"Function:thing", Other, of(Other, "Function:thing")},

		// CPython.
		{"py::f:/srv/a b.py", Other, Name{Runtime: CPython, Name: "f", File: "/srv/a b.py"}},
		{"py::A.f.<locals>.<lambda>:/srv/a:b.py", CPython, Name{Runtime: CPython, Name: "A.f.<locals>.<lambda>", File: "/srv/a:b.py"}},
		{"py::_find:<frozen importlib._bootstrap>", CPython, Name{Runtime: CPython, Name: "_find", File: "<frozen importlib._bootstrap>"}},
		{"py::", CPython, of(CPython, "py::")},
		{"thunk", CPython, of(Other, "thunk")},

		// .NET.
		{"void [System.Private.CoreLib] System.X::Y(int32,class [A]B)[OptimizedTier1]", Other, Name{Runtime: Dotnet, Name: "System.X.Y", Tier: "OptimizedTier1"}},
		{"instance void [System.Private.CoreLib] System.X`1[System.__Canon]::.ctor()[Tier1]", Other, Name{Runtime: Dotnet, Name: "System.X`1[System.__Canon]..ctor", Tier: "Tier1"}},
		{"instance class [A]B [App] Program::<Main>b__0_0(!!0)[QuickJitted]", Other, Name{Runtime: Dotnet, Name: "Program.<Main>b__0_0", Tier: "QuickJitted"}},
		{"void [App] Program::Main(string[])", Other, of(Dotnet, "Program.Main")},
		{"System.Private.CoreLib[PreJIT]", Other, Name{Runtime: Dotnet, Name: "System.Private.CoreLib", Tier: "PreJIT"}},
		{"stub<1> GenerateLookupStub<2>", Dotnet, of(Dotnet, "stub<1> GenerateLookupStub<2>")},
		{"code[Mine]", Other, of(Other, "code[Mine]")},

		// The JVM, as JDK 17 and agents write them.
		{"int Hot.inner(int)", Other, of(JVM, "Hot.inner")},
		{"int Hot$$Lambda$1/0x00007f4914000c08.f(int)", Other, of(JVM, "Hot$$Lambda$1.f")},
		{"java.util.Map$Node java.util.Map.tabAt(java.util.Map$Node[], int)", Other, of(JVM, "java.util.Map.tabAt")},
		{"void java.lang.String.<init>()", Other, of(JVM, "java.lang.String.<init>")},
		{"Lcom/x/Y;::run", Other, of(JVM, "com.x.Y.run")},
		{"LY;::run(I)V", Other, of(JVM, "Y.run")},
		{"Lcom/x/Y;::run->Lcom/x/Z;::go", Other, of(JVM, "com.x.Y.run->com.x.Z.go")},
		{"java.lang.String::hashCode", Other, of(JVM, "java.lang.String.hashCode")},
		{"Hot::inner", JVM, of(JVM, "Hot.inner")},
		{"Hot::inner", Other, of(Other, "Hot::inner")},
		{"Interpreter", Other, of(JVM, "Interpreter")},
		{"StubRoutines (2)", Other, of(JVM, "StubRoutines (2)")},
		{"I2C/C2I adapters", Other, of(JVM, "I2C/C2I adapters")},
		{"monitorenter Runtime1 stub", Other, of(JVM, "monitorenter Runtime1 stub")},
		{"int Hot.inner(int)", V8, of(V8, "int Hot.inner(int)")},
		{"_register_finalizer_Java", JVM, of(JVM, "_register_finalizer_Java")},
		{"_register_finalizer_Java", Other, of(Other, "_register_finalizer_Java")},

		// Others.
		{"", Other, of(Other, "")},
		{"", "", of(Other, "")},
		{"julia_sum_123", "", of(Other, "julia_sum_123")},
		{"std::vector<int>::push_back(int)", Other, of(Other, "std::vector<int>::push_back(int)")},
		{"int foo(int)", Other, of(Other, "int foo(int)")},
		{"int ns::foo.cold(int*)", Other, of(Other, "int ns::foo.cold(int*)")},
	}
	for _, tt := range tests {
		tt.want.System = tt.raw
		assert.Equal(t, tt.want, Parse(tt.raw, tt.process), "%q in a process of %q", tt.raw, tt.process)
	}
}

func TestRuntimeOfFiles(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Runtime{
		"/usr/bin/node": V8, "/usr/lib/libnode.so.108": V8, "/usr/lib/jvm/java-17/lib/server/libjvm.so": JVM,
		"/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.0/libcoreclr.so": Dotnet, "/usr/bin/python3.12": CPython,
		"/usr/lib/libpython3.13.so.1.0": CPython, "/usr/bin/python3-config": Other, "/usr/bin/bash": Other, "": Other,
		"/node/bash": Other, "[anon]": Other,
	} {
		assert.Equal(t, want, Of(file), file)
	}
}

// FuzzParse checks that nothing is lost or made up whatever a name looks like.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"JS:*get a /b:1:2", "py::a:b", "int A.b(int)", "LA;::b->LC;::d", "instance void [A] B`1[C]::d(e)[Tier1]", "A$$Lambda/0x1f.b::c"} {
		f.Add(s, "jvm")
	}
	f.Fuzz(func(t *testing.T, raw, process string) {
		n := Parse(raw, Runtime(process))
		if n.System != raw || (n.Name == "") != (raw == "") || n.StartLine < 0 || n.Column < 0 || len(n.Name) > len(raw)+64 {
			t.Fatalf("%q gave %+v", raw, n)
		}
		if n != Parse(raw, Runtime(process)) {
			t.Fatalf("%q is not always the same", raw)
		}
	})
}
