/*
 * main calls a, a calls an assembly function, which calls spin. As the argument
 * says: one that describes where its caller is by a slot in memory, one that
 * keeps a frame pointer and describes nothing, one that does neither.
 */
#include <unistd.h>
#ifdef __clang__
#define CALL __attribute__((noinline))
#else
#define CALL __attribute__((noinline, noclone))
#endif

volatile unsigned long sink;

CALL void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink++;
}

asm(".text\n"
    ".type described,@function\n"
    "described:\n"
    ".cfi_startproc\n"
    "	mov %rsp, %rax\n"
    ".cfi_def_cfa_register rax\n"
    "	push %rbx\n"
    ".cfi_offset rbx, -16\n"
    "	push %rbp\n"
    ".cfi_offset rbp, -24\n"
    "	sub $1000, %rsp\n"
    "	and $-64, %rsp\n"
    "	mov %rax, 152(%rsp)\n"
    /* DW_CFA_def_cfa_expression: *(rsp + 152) + 8, as OpenSSL has it. */
    ".cfi_escape 0x0f,0x06,0x77,0x98,0x01,0x06,0x23,0x08\n"
    "	mov $12345, %ebp\n"
    "	call spin\n"
    "	mov 152(%rsp), %rsi\n"
    ".cfi_def_cfa rsi, 8\n"
    "	mov -16(%rsi), %rbp\n"
    ".cfi_restore rbp\n"
    "	mov -8(%rsi), %rbx\n"
    ".cfi_restore rbx\n"
    "	lea (%rsi), %rsp\n"
    ".cfi_def_cfa_register rsp\n"
    "	ret\n"
    ".cfi_endproc\n"
    ".size described,.-described\n"
    ".skip 64\n"
    ".type pointer,@function\n"
    "pointer:\n"
    "	push %rbp\n"
    "	mov %rsp, %rbp\n"
    "	sub $336, %rsp\n"
    "	call spin\n"
    "	leave\n"
    "	ret\n"
    ".size pointer,.-pointer\n"
    ".skip 64\n"
    ".type bare,@function\n"
    "bare:\n"
    "	push %rbp\n"
    "	sub $336, %rsp\n"
    "	mov $0x12340, %ebp\n"
    "	call spin\n"
    "	add $336, %rsp\n"
    "	pop %rbp\n"
    "	ret\n"
    ".size bare,.-bare\n"
    ".skip 64\n");
void described(void), pointer(void), bare(void);

CALL void a(int which)
{
	if (which == 1)
		described();
	else if (which == 2)
		pointer();
	else
		bare();
	sink++;
}

int main(int argc, char **argv)
{
	alarm(300);
	for (;;)
		a(argc);
}
