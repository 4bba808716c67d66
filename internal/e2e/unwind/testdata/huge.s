# A function with two rows in each of SIZE turns.
	.text
	.globl NAME
	.type NAME, @function
NAME:
	.cfi_startproc
	.rept SIZE
	push %rax
	.cfi_adjust_cfa_offset 8
	pop %rax
	.cfi_adjust_cfa_offset -8
	.endr
	ret
	.cfi_endproc
	.size NAME, .-NAME
	.section .note.GNU-stack, "", @progbits
