// Package pdatabuild turns a closed window into OTLP profiles.
//
// A window becomes one or more messages, each with a dictionary of its own and
// small enough for the default limits of OTLP receivers. A process is one
// ResourceProfiles; when it does not fit into what is left of a message, it
// goes on in the next one as another profile with the same resource and time.
// The first message begins with a ResourceProfiles of another sort, marked by
// the attribute flametel.accounting: its profiles have no samples, and their
// attributes say what became of every sample of the window.
//
// The dictionary is built with Go maps; the Set helpers of pdata search their
// tables from the front. Index 0 of each table is the zero value, no two
// entries are equal and each entry is used. Strings are made valid here and
// nowhere else, see sanitize.
package pdatabuild
