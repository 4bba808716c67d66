package jitname

import "strings"

// jvmStubs are names of code of the JVM that is no method
// (src/hotspot/share/code/codeBlob.cpp and its callers).
var jvmStubs = [...]string{
	"Interpreter", "StubRoutines", "I2C/C2I adapters", "jni_fast_", "vtable stub", "itable stub",
	"vtable chunks", "MethodHandlesAdapterBlob", "DeoptimizationBlob", "UncommonTrapBlob", "ExceptionBlob",
	"SafepointBlob", "Signature Handler Temp Buffer", "call_stub", "flush_icache_stub",
}

// jvm takes names of Java methods apart, in the forms of
//
//	int com.x.Y.run(int, java.lang.String)   -XX:+DumpPerfMapAtExit, Compiler.perfmap
//	Lcom/x/Y;::run                           perf-map-agent
//	com.x.Y::run                             perf-map-agent with dotted classes
//
// into "com.x.Y.run".
func jvm(raw string, process Runtime) (n Name, ok bool) {
	n.Runtime = JVM
	for _, stub := range jvmStubs {
		if strings.HasPrefix(raw, stub) || strings.HasSuffix(raw, " Runtime1 stub") {
			return n, true
		}
	}
	if n.Name, ok = jvmAgent(raw); ok {
		return n, true
	}
	if process != JVM && process != Other && process != "" {
		return n, false // names of other runtimes may look like the rest
	}
	if n.Name, ok = jvmSignature(raw); ok {
		return n, true
	}
	if n.Name, ok = jvmDotted(raw, process); ok {
		return n, true
	}
	return n, process == JVM
}

// jvmAgent reads the form with slashes. Inlined calls are joined by "->".
func jvmAgent(raw string) (string, bool) {
	if !strings.HasPrefix(raw, "L") || !strings.Contains(raw, ";::") {
		return "", false
	}
	parts := strings.Split(raw, "->")
	for i, part := range parts {
		class, method, ok := strings.Cut(part, ";::")
		if !ok || !strings.HasPrefix(class, "L") {
			continue
		}
		method, _, _ = strings.Cut(method, "(")
		parts[i] = hidden(strings.ReplaceAll(class[1:], "/", ".")) + "." + method
	}
	return strings.Join(parts, "->"), true
}

// jvmSignature reads the form of the JVM itself: type, method, arguments.
func jvmSignature(raw string) (string, bool) {
	head, _, ok := strings.Cut(raw, "(")
	if !ok || !strings.HasSuffix(raw, ")") {
		return "", false
	}
	result, method, ok := strings.Cut(head, " ")
	dot := strings.LastIndexByte(method, '.')
	if !ok || result == "" || dot <= 0 || strings.ContainsAny(head, ":*&") || strings.Contains(method, " ") {
		return "", false
	}
	return hidden(method[:dot]) + method[dot:], true
}

// jvmDotted reads the form with dots. In processes without a JVM a class must
// be in a package, because C++ names look alike otherwise.
func jvmDotted(raw string, process Runtime) (string, bool) {
	class, method, ok := strings.Cut(raw, "::")
	if !ok || class == "" || method == "" || strings.ContainsAny(class, " <(") || strings.Contains(method, "::") {
		return "", false
	}
	if process != JVM && !strings.Contains(class, ".") {
		return "", false
	}
	method, _, _ = strings.Cut(method, "(")
	return hidden(class) + "." + method, true
}

// hidden cuts the address off the name of a hidden class, such as that of a
// lambda: "A$$Lambda$1/0x00007f4914000c08" has another in each run.
func hidden(class string) string {
	for _, mark := range []string{"/0x", ".0x", "+0x"} {
		if i := strings.LastIndex(class, mark); i > 0 && strings.Trim(class[i+3:], "0123456789abcdef") == "" {
			return class[:i]
		}
	}
	return class
}
