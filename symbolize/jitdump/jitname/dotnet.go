package jitname

import "strings"

// dotnetTiers are the marks at the end of names: what the runtime calls its
// tiers (src/coreclr/vm/prestub.cpp, GetJitOptimizationTierStr), short names
// of them that tools use, and the mark of code compiled ahead of time.
var dotnetTiers = map[string]bool{
	"PreJIT": true, "ReadyToRun": true, "Unknown": true, "MinOptJitted": true, "Optimized": true,
	"QuickJitted": true, "OptimizedTier1": true, "OptimizedTier1OSR": true,
	"QuickJittedInstrumented": true, "OptimizedTier1Instrumented": true, "InstrumentedTier": true,
	"InstrumentedTierOptimized": true, "Tier0": true, "Tier1": true, "Tier1-OSR": true,
	"Instrumented Tier0": true, "Instrumented Tier1": true,
}

// dotnet takes names such as
//
//	instance void [System.Private.CoreLib] System.X`1[System.__Canon]::Y(int32)[OptimizedTier1]
//
// apart: "System.X`1[System.__Canon].Y".
func dotnet(raw string, process Runtime) (n Name, ok bool) {
	n.Runtime = Dotnet
	text := raw
	if open := strings.LastIndexByte(raw, '['); open >= 0 && strings.HasSuffix(raw, "]") {
		if tier := raw[open+1 : len(raw)-1]; dotnetTiers[tier] {
			n.Tier, text = tier, strings.TrimRight(raw[:open], " ")
		}
	}
	owner, method, found := strings.Cut(text, "::")
	assembly := strings.Contains(owner, "] ")
	if n.Tier == "" && process != Dotnet && (!found || !assembly || !strings.HasSuffix(text, ")")) {
		return n, false
	}
	if !found {
		n.Name = text
		return n, true
	}
	method, _, _ = strings.Cut(method, "(")
	n.Name = lastWord(owner) + "." + method
	return n, true
}

// lastWord returns what follows the last space that is not in brackets.
func lastWord(s string) string {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ']', '>', ')':
			depth++
		case '[', '<', '(':
			depth--
		case ' ':
			if depth <= 0 {
				return s[i+1:]
			}
		}
	}
	return s
}
