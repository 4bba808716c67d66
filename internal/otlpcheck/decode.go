package otlpcheck

import (
	"fmt"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Decode reads an export request and refuses fields that the protocol does not
// have: a field that moved between versions would be lost in silence.
func Decode(body []byte) (*collector.ExportProfilesServiceRequest, error) {
	request := &collector.ExportProfilesServiceRequest{}
	if err := proto.Unmarshal(body, request); err != nil {
		return nil, fmt.Errorf("decode export request: %w", err)
	}
	if err := refuseUnknown(request.ProtoReflect()); err != nil {
		return nil, err
	}
	return request, nil
}

// refuseUnknown returns an error if m or a message within it has unknown fields.
func refuseUnknown(m protoreflect.Message) error {
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		return fmt.Errorf("%s has %d bytes of unknown fields", m.Descriptor().FullName(), len(unknown))
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = refuseUnknown(v.List().Get(i).Message())
			}
		default:
			err = refuseUnknown(v.Message())
		}
		return err == nil
	})
	return err
}
