//go:build !linux

package record

// attachments would say what is attached to the kernel.
type attachments struct{}

func attached() attachments                       { return attachments{} }
func (attachments) since(attachments) attachments { return attachments{} }

// String says that there is nothing: nothing can be recorded here.
func (attachments) String() string { return "nothing" }
