package dwarfline

import "fmt"

// class says what a value is.
type class uint8

const (
	classNone     class = iota
	classOther          // of no use here
	classConst          // a number
	classAddr           // a file address
	classAddrx          // an index of addresses
	classOffset         // an offset in another section
	classListx          // an index of range lists
	classRef            // an offset in .debug_info
	classRefSup         // the same in the supplementary file
	classRefSig         // the signature of a type unit
	classString         // a string in .debug_info at this offset
	classStrp           // in .debug_str
	classLineStrp       // in .debug_line_str
	classStrx           // an index of strings
	classStrpSup        // in .debug_str of the supplementary file
)

type value struct {
	class class
	u     uint64
}

// formSize is the size of a value of this form, -1 if it varies.
func (h *unitHead) formSize(form uint16) int32 {
	offset := int32(4)
	if h.dwarf64 {
		offset = 8
	}
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int32(h.addrSize)
	case formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return offset
	case formRefAddr:
		if h.version <= 2 { // DWARF 2 made it an address
			return int32(h.addrSize)
		}
		return offset
	}
	return -1
}

// skipValue passes a value.
func (h *unitHead) skipValue(c *cursor, s spec) {
	if n := h.formSize(s.form); n >= 0 {
		c.skip(uint64(n))
		return
	}
	if s.form == formString {
		c.skipString()
		return
	}
	h.value(c, s)
}

// value reads a value.
func (h *unitHead) value(c *cursor, s spec) value {
	switch s.form {
	case formImplicitConst:
		return value{classConst, uint64(int64(s.implicit))}
	case formIndirect:
		form := c.uleb()
		if form == formIndirect || form == formImplicitConst || form > 0xffff {
			c.fail(fmt.Errorf("%w: indirect form %#x", ErrFormat, form))
			return value{}
		}
		return h.direct(c, uint16(form))
	}
	return h.direct(c, s.form)
}

func (h *unitHead) direct(c *cursor, form uint16) value {
	switch form {
	case formAddr:
		return value{classAddr, c.uint(h.addrSize)}
	case formAddrx, formGNUAddrIndex:
		return value{classAddrx, c.uleb()}
	case formAddrx1, formAddrx2, formAddrx4:
		return value{classAddrx, c.uint(uint8(h.formSize(form)))}
	case formAddrx3:
		return value{classAddrx, uint64(c.u24())}
	case formData1, formFlag, formData2, formData4, formData8:
		return value{classConst, c.uint(uint8(h.formSize(form)))}
	case formUdata:
		return value{classConst, c.uleb()}
	case formSdata:
		return value{classConst, uint64(c.sleb())}
	case formFlagPresent:
		return value{classConst, 1}
	case formSecOffset:
		return value{classOffset, c.offset(h.dwarf64)}
	case formRnglistx:
		return value{classListx, c.uleb()}
	case formString, formStrp, formLineStrp, formStrx, formGNUStrIndex, formStrx1, formStrx2, formStrx3,
		formStrx4, formStrpSup, formGNUStrpAlt:
		return h.text(c, form)
	case formRef1, formRef2, formRef4, formRef8:
		return value{classRef, h.off + c.uint(uint8(h.formSize(form)))}
	case formRefUdata:
		return value{classRef, h.off + c.uleb()}
	case formRefAddr:
		return value{classRef, c.uint(uint8(h.formSize(form)))}
	case formGNURefAlt:
		return value{classRefSup, c.offset(h.dwarf64)}
	case formRefSup4:
		return value{classRefSup, uint64(c.u32())}
	case formRefSup8:
		return value{classRefSup, c.u64()}
	case formRefSig8:
		return value{classRefSig, c.u64()}
	}
	h.skipBlock(c, form)
	return value{class: classOther}
}

// text reads where a string is.
func (h *unitHead) text(c *cursor, form uint16) value {
	switch form {
	case formString:
		v := value{classString, c.pos}
		c.skipString()
		return v
	case formStrp:
		return value{classStrp, c.offset(h.dwarf64)}
	case formLineStrp:
		return value{classLineStrp, c.offset(h.dwarf64)}
	case formStrpSup, formGNUStrpAlt:
		return value{classStrpSup, c.offset(h.dwarf64)}
	case formStrx3:
		return value{classStrx, uint64(c.u24())}
	case formStrx1, formStrx2, formStrx4:
		return value{classStrx, c.uint(uint8(h.formSize(form)))}
	}
	return value{classStrx, c.uleb()}
}

// skipBlock passes what is of no use.
func (h *unitHead) skipBlock(c *cursor, form uint16) {
	switch form {
	case formBlock1:
		c.skip(uint64(c.u8()))
	case formBlock2:
		c.skip(uint64(c.u16()))
	case formBlock4:
		c.skip(uint64(c.u32()))
	case formBlock, formExprloc:
		c.skip(c.uleb())
	case formLoclistx:
		c.uleb()
	case formData16:
		c.skip(16)
	default:
		c.fail(fmt.Errorf("%w: form %#x", ErrUnsupported, form))
	}
}
