// Package version holds the version of the command line.
package version

// Version is that of the release, the same as in builder-config.yaml.
const Version = "0.1.0"
