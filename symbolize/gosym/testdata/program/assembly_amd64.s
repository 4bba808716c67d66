// func assembly(x, y int64) int64
TEXT ·assembly(SB), 4, $16-24
	MOVQ x+0(FP), AX
	MOVQ AX, tmp-8(SP)
	ADDQ y+8(FP), AX
	MOVQ AX, ret+16(FP)
	RET
