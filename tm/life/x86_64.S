/* The begin of a transaction, which returns twice, and the way back to it (T18, T19). The checkpoint goes straight into
   the thread's descriptor, since the caller's frame is reused; so begin needs no frame, and ends in a jump.
   Vector registers, x87 and MXCSR are not saved: they are the caller's by the SysV ABI. */
/* SPDX-License-Identifier: MIT */
#if defined(__x86_64__)
        .text
        .p2align 4
        .globl  _ITM_beginTransaction
        .type   _ITM_beginTransaction, @function
_ITM_beginTransaction:
        .cfi_startproc
        endbr64
        movq    rubato_tm_current@gottpoff(%rip), %rax
        movq    %fs:(%rax), %rsi
        testq   %rsi, %rsi
        je      2f
1:      movq    8(%rsi), %rcx           /* Thread::next_checkpoint */
        movq    %rbx, 0(%rcx)
        movq    %rbp, 8(%rcx)
        movq    %r12, 16(%rcx)
        movq    %r13, 24(%rcx)
        movq    %r14, 32(%rcx)
        movq    %r15, 40(%rcx)
        leaq    8(%rsp), %rdx
        movq    %rdx, 48(%rcx)
        movq    (%rsp), %rdx
        movq    %rdx, 56(%rcx)
        xorl    %edx, %edx
        rdsspq  %rdx                    /* nothing where CET is off */
        movq    %rdx, 64(%rcx)
        jmp     rubato_tm_begin         /* (properties, thread) */
2:      pushq   %rdi
        .cfi_adjust_cfa_offset 8
        call    rubato_tm_register_thread
        movq    %rax, %rsi
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     1b
        .cfi_endproc
        .size   _ITM_beginTransaction, . - _ITM_beginTransaction

        .p2align 4
        .globl  rubato_tm_resume
        .hidden rubato_tm_resume
        .type   rubato_tm_resume, @function
rubato_tm_resume:                       /* (checkpoint, actions) */
        .cfi_startproc
        .cfi_undefined rip
        movl    %esi, %eax
        movq    64(%rdi), %rdx
        testq   %rdx, %rdx
        je      3f
        xorl    %ecx, %ecx              /* drop the shadow frames: begin's own return address, too */
        rdsspq  %rcx
        subq    %rcx, %rdx
        shrq    $3, %rdx
        incq    %rdx
4:      cmpq    $255, %rdx
        jbe     5f
        movl    $255, %ecx
        incsspq %rcx
        subq    $255, %rdx
        jmp     4b
5:      incsspq %rdx
3:      movq    0(%rdi), %rbx
        movq    8(%rdi), %rbp
        movq    16(%rdi), %r12
        movq    24(%rdi), %r13
        movq    32(%rdi), %r14
        movq    40(%rdi), %r15
        movq    56(%rdi), %rdx
        movq    48(%rdi), %rsp          /* last: signals overwrite the frames below it,
                                           and a nested checkpoint lies in one */
        jmp     *%rdx
        .cfi_endproc
        .size   rubato_tm_resume, . - rubato_tm_resume

/* void* rubato_tm_call_new(size_t bytes, void* (*function)(size_t)): a call whose exceptions the library sees as they
   pass. They need no handler, only a personality, so that nothing of libstdc++ is needed (T11, T23). */
        .p2align 4
        .globl  rubato_tm_call_new
        .hidden rubato_tm_call_new
        .type   rubato_tm_call_new, @function
rubato_tm_call_new:
        .cfi_startproc
        .cfi_personality 0x1b, rubato_tm_note_exception /* relative, four bytes */
        endbr64
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    *%rsi
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   rubato_tm_call_new, . - rubato_tm_call_new
#endif
        .section .note.GNU-stack, "", @progbits
#if defined(__x86_64__)
        /* Works with shadow stacks and indirect branch tracking. */
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0
#endif
