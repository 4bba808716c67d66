package identity

import (
	"bytes"
	"net/url"
	"strings"
	"unicode/utf8"
)

// The variables by which a program names its service, see the OpenTelemetry
// specification, SDK environment variables.
const (
	serviceVariable    = "OTEL_SERVICE_NAME"
	attributesVariable = "OTEL_RESOURCE_ATTRIBUTES"
	serviceKey         = "service.name"
)

// maxServiceName bounds a name that a program chose itself, in bytes.
const maxServiceName = 255

// ServiceName returns the service that a process belongs to: what its
// environment says, else the name of its container, else executable. A
// container that has only a number has no name: the number changes with each
// start and is the attribute container.id anyway.
//
// environ is the contents of /proc/PID/environ, possibly cut at its end, or nil.
func ServiceName(environ []byte, containerID, executable string) string {
	if name := fromEnviron(environ); name != "" {
		return name
	}
	if containerID != "" && !isContainerHex(containerID) && !isUUID(containerID) && !isFargate(containerID) {
		return containerID
	}
	return executable
}

func fromEnviron(environ []byte) string {
	service, attributes := "", ""
	haveService, haveAttributes := false, false
	for len(environ) > 0 {
		entry, rest, complete := bytes.Cut(environ, []byte{0})
		if !complete {
			break // cut off: half a name is a wrong name
		}
		environ = rest
		// As getenv does, take the first of several.
		if v, ok := variable(entry, serviceVariable); ok && !haveService {
			service, haveService = v, true
		}
		if v, ok := variable(entry, attributesVariable); ok && !haveAttributes {
			attributes, haveAttributes = v, true
		}
	}
	if name := limit(service); name != "" {
		return name
	}
	return limit(fromAttributes(attributes))
}

func variable(entry []byte, name string) (string, bool) {
	if len(entry) <= len(name) || entry[len(name)] != '=' || string(entry[:len(name)]) != name {
		return "", false
	}
	return string(entry[len(name)+1:]), true
}

// fromAttributes finds service.name in key=value pairs separated by commas,
// percent-encoded. As the specification says, one bad pair makes all invalid.
func fromAttributes(list string) string {
	name := ""
	if strings.TrimSpace(list) == "" {
		return ""
	}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return ""
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return ""
		}
		if strings.TrimSpace(key) == serviceKey {
			name = value
		}
	}
	return name
}

// limit trims a name and cuts it between characters.
func limit(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxServiceName {
		return s
	}
	n := maxServiceName
	for n > maxServiceName-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
