// Package otlp reads OTLP profiles from files, in every way that the collector's
// file exporter and others write them: protobuf or JSON; one message, one message
// to a line, or messages with their length before them.
//
// Both a message as it is sent (ExportProfilesServiceRequest) and one as it is
// kept (ProfilesData) are read: their fields are the same.
package otlp
