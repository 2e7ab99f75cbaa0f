/* Small pieces of program code for test_translate, one for each kind of transfer and for whatever
 * the translator treats in a way of its own.  Each ends in hlt, which faults.  0x20000+9b(%rip)
 * is the data that every snippet has at LOCKSTEP_DATA behind its start, the label 9.
 *
 * The paths are the exits of translated code when a batch takes in all of it and the jump table is
 * empty: Miss, Indirect, Syscall, Return, Fault. */
#pragma once

#include <stdint.h>

#define SNIPPETS(X)                                                                  \
	X(jcc_taken, "F", "xor %eax, %eax\n jz 1f\n inc %edx\n 1: dec %ebx\n hlt")   \
	X(jcc_not_taken, "F",                                                        \
	  "xor %eax, %eax\n jnz 1f\n inc %edx\n 1: dec %ebx\n"                       \
	  " hlt")                                                                    \
	X(jcc_near, "F", "stc\n jc 1f\n .skip 300, 0x90\n 1: hlt")                   \
	X(jcc_back, "F",                                                             \
	  "mov $5, %ecx\n 1: add %rcx, %rax\n sub $1, %ecx\n"                        \
	  " jnz 1b\n hlt")                                                           \
	X(jcc_flags_alive, "F",                                                      \
	  "cmp %rbx, %rax\n 1: mov %rcx, %rdx\n jb 2f\n"                             \
	  " nop\n 2: jo 3f\n nop\n 3: jp 4f\n nop\n 4: hlt")                         \
	X(jmp_short, "F", "jmp 1f\n nop\n 1: hlt")                                   \
	X(jmp_near, "F", "jmp 1f\n .skip 300, 0x90\n 1: hlt")                        \
	X(loop_taken, "F", "mov $3, %ecx\n 1: lea 5(%rax), %rax\n loop 1b\n hlt")    \
	X(loop_not_taken, "F", "mov $1, %ecx\n loop 1f\n inc %eax\n 1: hlt")         \
	X(loope, "F",                                                                \
	  "mov $3, %ecx\n cmp %eax, %eax\n loope 1f\n inc %eax\n"                    \
	  " 1: hlt")                                                                 \
	X(loope_not_taken, "F",                                                      \
	  "mov $3, %ecx\n test %ecx, %ecx\n loope 1f\n"                              \
	  " inc %eax\n 1: hlt")                                                      \
	X(loopne, "F",                                                               \
	  "mov $3, %ecx\n test %ecx, %ecx\n loopne 1f\n inc %eax\n"                  \
	  " 1: hlt")                                                                 \
	X(loop_32, "F", "mov $2, %ecx\n 1: inc %eax\n addr32 loop 1b\n hlt")         \
	X(jrcxz_taken, "F", "xor %ecx, %ecx\n jrcxz 1f\n inc %eax\n 1: hlt")         \
	X(jrcxz_not_taken, "F", "mov $1, %ecx\n jrcxz 1f\n inc %eax\n 1: hlt")       \
	X(jecxz_taken, "F",                                                          \
	  "mov $1, %rcx\n shl $32, %rcx\n jecxz 1f\n inc %eax\n"                     \
	  " 1: hlt")                                                                 \
	X(call_direct, "MRF", "call 1f\n inc %ebx\n hlt\n 1: inc %eax\n ret")        \
	X(call_next, "F", "call 1f\n 1: pop %rax\n hlt")                             \
	X(call_in_call, "MMRRF",                                                     \
	  "call 1f\n hlt\n 1: call 2f\n mov (%rsp), %rdx\n"                          \
	  " ret\n 2: lea (%rsp), %rsi\n ret")                                        \
	X(recursion, "MRRRRF",                                                       \
	  "mov $3, %ebx\n call 1f\n hlt\n"                                           \
	  " 1: test %ebx, %ebx\n jz 2f\n dec %ebx\n call 1b\n inc %eax\n 2: ret")    \
	X(ret_imm, "MIF", "push %rax\n push %rbx\n call 1f\n hlt\n 1: ret $16")      \
	X(ret_bnd, "MRF", "call 1f\n hlt\n 1: repz ret")                             \
	X(call_bnd, "MRF", ".byte 0xf2\n call 1f\n hlt\n 1: .byte 0xf2\n ret")       \
	X(call_tls, "MRF", ".byte 0x66, 0x66, 0x48\n call 1f\n hlt\n 1: ret")        \
	X(call_rax, "IRF",                                                           \
	  "lea 1f(%rip), %rax\n call *%rax\n hlt\n"                                  \
	  " 1: mov (%rsp), %rdx\n ret")                                              \
	X(call_rcx, "IRF", "lea 1f(%rip), %rcx\n call *%rcx\n hlt\n 1: ret")         \
	X(call_r8, "IRF", "lea 1f(%rip), %r8\n call *%r8\n hlt\n 1: ret")            \
	X(call_r11, "IRF", "lea 1f(%rip), %r11\n notrack call *%r11\n hlt\n 1: ret") \
	X(call_memory, "IRF",                                                        \
	  "lea 1f(%rip), %rdx\n mov %rdx, 0x20000+9b(%rip)\n"                        \
	  " call *0x20000+9b(%rip)\n hlt\n 1: ret")                                  \
	X(call_rsp, "IRF",                                                           \
	  "lea 1f(%rip), %rax\n push %rax\n push %rbx\n"                             \
	  " call *8(%rsp)\n hlt\n 1: mov 16(%rsp), %rcx\n ret")                      \
	X(call_r12, "IRF",                                                           \
	  "lea 1f(%rip), %rax\n mov %rsp, %r12\n"                                    \
	  " mov %rax, -64(%r12)\n call *-64(%r12)\n hlt\n 1: ret")                   \
	X(call_r13_index, "IRF",                                                     \
	  "lea 1f(%rip), %rax\n lea -64(%rsp), %r13\n"                               \
	  " mov $2, %r9d\n mov %rax, (%r13,%r9,8)\n call *(%r13,%r9,8)\n hlt\n"      \
	  " 1: ret")                                                                 \
	X(call_faults, "F", "xor %eax, %eax\n call *16(%rax)")                       \
	X(call_no_stack, "F", "xor %esp, %esp\n call 1f\n 1: hlt")                   \
	X(call_indirect_no_stack, "F",                                               \
	  "lea 1f(%rip), %rdx\n xor %esp, %esp\n"                                    \
	  " call *%rdx\n 1: hlt")                                                    \
	X(ret_no_stack, "F", "xor %esp, %esp\n ret")                                 \
	X(jmp_rax, "IF", "lea 1f(%rip), %rax\n jmp *%rax\n 1: hlt")                  \
	X(jmp_rcx, "IF", "lea 1f(%rip), %rcx\n notrack jmp *%rcx\n 1: hlt")          \
	X(jmp_rdx, "IF", "lea 1f(%rip), %rdx\n .byte 0xf2\n jmp *%rdx\n 1: hlt")     \
	X(jmp_rbp, "IF", "lea 1f(%rip), %rbp\n jmp *%rbp\n 1: hlt")                  \
	X(jmp_r8, "IF", "lea 1f(%rip), %r8\n jmp *%r8\n 1: hlt")                     \
	X(jmp_r9, "IF", "lea 1f(%rip), %r9\n jmp *%r9\n 1: hlt")                     \
	X(jmp_r12, "IF", "lea 1f(%rip), %r12\n jmp *%r12\n 1: hlt")                  \
	X(jmp_r13, "IF", "lea 1f(%rip), %r13\n jmp *%r13\n 1: hlt")                  \
	X(jmp_r15, "IF", "lea 1f(%rip), %r15\n jmp *%r15\n 1: hlt")                  \
	X(jmp_memory, "IF",                                                          \
	  "lea 1f(%rip), %rdx\n mov %rdx, 0x20000+9b(%rip)\n"                        \
	  " jmp *0x20000+9b(%rip)\n 1: hlt")                                         \
	X(jmp_memory_notrack, "IF",                                                  \
	  "lea 1f(%rip), %rdx\n"                                                     \
	  " mov %rdx, 0x20000+9b(%rip)\n notrack jmp *0x20000+9b(%rip)\n 1: hlt")    \
	X(jmp_table, "IF",                                                           \
	  "lea 1f(%rip), %rdx\n mov $3, %ecx\n"                                      \
	  " lea -128(%rsp), %rax\n mov %rdx, (%rax,%rcx,8)\n"                        \
	  " notrack jmp *(%rax,%rcx,8)\n 1: hlt")                                    \
	X(jmp_rsp, "IF", "lea 1f(%rip), %rdx\n push %rdx\n jmp *(%rsp)\n 1: hlt")    \
	X(jmp_fs, "IF",                                                              \
	  "lea 1f(%rip), %rdx\n mov %rdx, %fs:0x20\n jmp *%fs:0x20\n"                \
	  " 1: hlt")                                                                 \
	X(call_fs, "IRF",                                                            \
	  "lea 1f(%rip), %rdx\n mov %rdx, %fs:0x20\n"                                \
	  " mov $0x10, %r14d\n call *%fs:0x10(%r14)\n hlt\n 1: ret")                 \
	X(push_ret, "RF", "lea 1f(%rip), %rdx\n push %rdx\n ret\n 1: hlt")           \
	X(system_call, "SF", "mov $39, %eax\n syscall\n add %rcx, %rdx\n hlt")       \
	X(system_calls, "SSSF",                                                      \
	  "mov $3, %ebx\n 1: mov %ebx, %eax\n syscall\n"                             \
	  " dec %ebx\n jnz 1b\n hlt")                                                \
	X(flags_pushed, "F", "cmp %rax, %rbx\n pushfq\n pop %rcx\n hlt")             \
	X(flags_lahf, "F", "cmp %rax, %rbx\n lahf\n seto %dl\n hlt")                 \
	X(flags_carry_kept, "F",                                                     \
	  "cmp %rax, %rbx\n inc %edx\n jc 1f\n nop\n"                                \
	  " 1: adc %rdx, %rcx\n hlt")                                                \
	X(flags_of_shift, "F",                                                       \
	  "mov %edx, %ecx\n cmp %rax, %rbx\n shl %cl, %rsi\n"                        \
	  " jo 1f\n nop\n 1: hlt")                                                   \
	X(all_registers_loop, "F",                                                   \
	  "mov $4, %eax\n 1: add %rcx, %rdx\n"                                       \
	  " add %rbx, %rbp\n add %rsi, %rdi\n add %r8, %r9\n add %r10, %r11\n"       \
	  " add %r12, %r13\n add %r14, %r15\n dec %eax\n jnz 1b\n hlt")              \
	X(loop_faults, "F",                                                          \
	  "lea -32(%rsp), %r8\n mov %fs:0, %r10\n"                                   \
	  " 1: mov %r10, (%r8)\n add $4096, %r8\n cmp $7, %r8\n jne 1b\n hlt")       \
	X(loop_left_in_middle, "F",                                                  \
	  "mov $9, %ecx\n 1: cmp $4, %ecx\n je 2f\n"                                 \
	  " dec %ecx\n jmp 1b\n 2: hlt")                                             \
	X(rep_movsb, "F",                                                            \
	  "mov $21, %ecx\n mov %rsp, %rsi\n lea -512(%rsp), %rdi\n"                  \
	  " rep movsb\n hlt")                                                        \
	X(rep_movsb_std, "F",                                                        \
	  "std\n mov $9, %ecx\n mov %rsp, %rsi\n"                                    \
	  " lea -512(%rsp), %rdi\n rep movsb\n cld\n hlt")                           \
	X(rep_stosq, "F",                                                            \
	  "mov $5, %ecx\n lea -512(%rsp), %rdi\n cmp %rax, %rbx\n"                   \
	  " rep stosq\n ja 1f\n nop\n 1: hlt")                                       \
	X(rep_none, "F", "xor %ecx, %ecx\n rep movsq\n repe cmpsb\n hlt")            \
	X(rep_lodsb, "F", "mov $4, %ecx\n mov %rsp, %rsi\n rep lodsb\n hlt")         \
	X(repe_cmpsb_early, "F",                                                     \
	  "mov $16, %ecx\n lea -512(%rsp), %rdi\n"                                   \
	  " mov %rsp, %rsi\n movq $0x11223344, (%rsi)\n movq $0x11443344, (%rdi)\n"  \
	  " repe cmpsb\n ja 1f\n nop\n 1: hlt")                                      \
	X(repe_cmpsb_all, "F",                                                       \
	  "mov $8, %ecx\n mov %rsp, %rdi\n mov %rsp, %rsi\n"                         \
	  " repe cmpsb\n hlt")                                                       \
	X(repne_scasb, "F",                                                          \
	  "mov $100, %ecx\n mov %rsp, %rdi\n"                                        \
	  " movb $77, 30(%rdi)\n mov $77, %al\n repne scasb\n setz %bl\n hlt")       \
	X(repne_scasw, "F",                                                          \
	  "mov $3, %ecx\n mov %rsp, %rdi\n mov $-3, %eax\n"                          \
	  " repne scasw\n hlt")                                                      \
	X(rep_faults, "F",                                                           \
	  "mov $100000, %ecx\n lea -512(%rsp), %rdi\n rep stosb\n"                   \
	  " hlt")                                                                    \
	X(rep_repeated, "F",                                                         \
	  "mov $3, %ebx\n 1: mov %ebx, %ecx\n"                                       \
	  " lea -512(%rsp), %rdi\n rep stosl\n dec %ebx\n jnz 1b\n hlt")             \
	X(far_moves, "F",                                                            \
	  "mov 0x20000+9b(%rip), %rax\n"                                             \
	  " mov 0x20000+9b(%rip), %r9\n mov %r10, 0x20000+9b(%rip)\n"                \
	  " mov %bh, 0x20000+9b(%rip)\n movzbl 0x20000+9b(%rip), %r12d\n"            \
	  " lea 0x20000+9b(%rip), %r13\n mov 0x20000+9b(%rip), %ecx\n hlt")          \
	X(far_immediates, "F",                                                       \
	  "movl $0x12345678, 0x20000+9b(%rip)\n"                                     \
	  " cmpb $7, 0x20000+9b(%rip)\n addq $-3, 0x20000+9b(%rip)\n"                \
	  " imul $77, 0x20000+9b(%rip), %rdx\n testl $0x1000, 0x20000+9b(%rip)\n"    \
	  " setc 0x20000+9b(%rip)\n hlt")                                            \
	X(far_implicit, "F",                                                         \
	  "mov %rsp, %rsi\n mov $3, %eax\n"                                          \
	  " mulq 0x20000+9b(%rip)\n lock cmpxchg %rcx, 0x20000+9b(%rip)\n"           \
	  " cmpxchg16b 0x20000+9b(%rip)\n xadd %rdx, 0x20000+9b(%rip)\n"             \
	  " xchg %rbx, 0x20000+9b(%rip)\n shll %cl, 0x20000+9b(%rip)\n hlt")         \
	X(far_rex_b, "F",                                                            \
	  "xor %eax, %eax\n .byte 0x4d, 0x8b, 0x05\n .long 0x20000+9b-4-.\n"         \
	  " .byte 0x41, 0x03, 0x0d\n .long 0x20000+9b-4-.\n hlt")                    \
	X(far_stack, "F",                                                            \
	  "push 0x20000+9b(%rip)\n pop 0x20008+9b(%rip)\n"                           \
	  " push %rax\n pop 0x20000+9b(%rip)\n hlt")                                 \
	X(far_vectors, "F",                                                          \
	  "movups 0x20000+9b(%rip), %xmm3\n"                                         \
	  " movups %xmm9, 0x20000+9b(%rip)\n pshufb 0x20000+9b(%rip), %xmm1\n"       \
	  " pshufd $0x1b, 0x20000+9b(%rip), %xmm2\n"                                 \
	  " cvtsi2sdq 0x20000+9b(%rip), %xmm4\n movq 0x20000+9b(%rip), %xmm8\n hlt") \
	X(far_x87, "F",                                                              \
	  "fldl 0x20000+9b(%rip)\n fstpt 0x20000+9b(%rip)\n"                         \
	  " fildll 0x20000+9b(%rip)\n fistpl 0x20000+9b(%rip)\n hlt")                \
	X(far_branch_flags, "F",                                                     \
	  "cmp %rax, 0x20000+9b(%rip)\n"                                             \
	  " mov 0x20000+9b(%rip), %rdx\n jb 1f\n nop\n 1: hlt")                      \
	X(far_tls, "F", "mov %fs:0x10, %rax\n mov %rax, 0x20000+9b(%rip)\n hlt")

#define SNIPPETS_AVX2(X)                                                                     \
	X(far_vex, "F",                                                                      \
	  "vmovupd 0x20000+9b(%rip), %ymm3\n"                                                \
	  " vfmadd231pd 0x20000+9b(%rip), %ymm9, %ymm10\n"                                   \
	  " vpermq $0x1b, 0x20000+9b(%rip), %ymm12\n"                                        \
	  " vmovdqu %ymm14, 0x20000+9b(%rip)\n andn 0x20000+9b(%rip), %rax, %r9\n"           \
	  " vpblendvb %xmm2, 0x20000+9b(%rip), %xmm4, %xmm9\n hlt")                          \
	X(far_vex_b, "F", ".byte 0xc4, 0xc1, 0x78, 0x10, 0x05\n .long 0x20000+9b-4-.\n hlt") \
	X(vmask_overflow_alive, "F",                                                         \
	  "mov $0x80000000, %eax\n add %eax, %eax\n"                                         \
	  " vmaskmovps -64(%rsp), %ymm2, %ymm4\n jno 1f\n inc %edx\n 1: hlt")                \
	X(vmaskmov, "F",                                                                     \
	  "vpcmpeqd %ymm1, %ymm1, %ymm1\n"                                                   \
	  " vpsrlq $20, %ymm1, %ymm2\n vmaskmovps (%rsp), %ymm2, %ymm4\n"                    \
	  " vmaskmovpd %xmm4, %xmm2, -256(%rsp)\n"                                           \
	  " vpmaskmovq %ymm7, %ymm9, -128(%rsp)\n"                                           \
	  " vpmaskmovd -96(%rsp), %xmm11, %xmm4\n hlt")                                      \
	X(maskmovdqu, "F",                                                                   \
	  "lea -256(%rsp), %rdi\n maskmovdqu %xmm3, %xmm9\n"                                 \
	  " vmaskmovdqu %xmm5, %xmm2\n hlt")                                                 \
	X(gather, "F",                                                                       \
	  "vpcmpeqd %ymm3, %ymm3, %ymm3\n vpsrad $28, %ymm5, %ymm1\n"                        \
	  " vpgatherdd %ymm3, (%rsp,%ymm1,4), %ymm2\n vpxor %xmm8, %xmm8, %xmm8\n"           \
	  " vgatherqpd %xmm9, (%rsp,%xmm8,8), %xmm4\n hlt")                                  \
	X(gather_forms, "F",                                                                 \
	  "mov $9, %ecx\n 1: vpaddd %ymm7, %ymm5, %ymm5\n vpsrad $24, %ymm5, %ymm1\n"        \
	  " vpsllq $57, %ymm5, %ymm10\n vpsrlq $57, %ymm10, %ymm10\n"                        \
	  " vpxor %ymm6, %ymm5, %ymm3\n vpgatherdd %ymm3, 3(%rsp,%ymm1,4), %ymm2\n"          \
	  " vmovdqa %ymm5, %ymm3\n vgatherdpd %ymm3, (%rsp,%xmm1,8), %ymm2\n"                \
	  " vmovdqa %ymm6, %ymm3\n vpgatherqq %ymm3, -64(%rsp,%ymm10,8), %ymm2\n"            \
	  " vmovdqa %ymm6, %ymm3\n vgatherqps %xmm3, (%rsp,%ymm10,2), %xmm2\n"               \
	  " vmovdqa %ymm5, %ymm3\n vpgatherdq %xmm3, (%rsp,%xmm1,1), %xmm2\n"                \
	  " dec %ecx\n jnz 1b\n hlt")                                                        \
	X(vmask_flags_alive, "F",                                                            \
	  "cmp %rax, %rbx\n"                                                                 \
	  " vmaskmovps -64(%rsp), %ymm2, %ymm4\n jo 1f\n nop\n 1: jbe 2f\n nop\n"            \
	  " 2: jp 3f\n nop\n 3: lahf\n hlt")
#define SNIPPETS_AVX512(X)                                                            \
	X(far_evex, "F",                                                              \
	  "vmovupd 0x20000+9b(%rip), %zmm17\n"                                        \
	  " vaddpd 0x20000+9b(%rip), %zmm18, %zmm29\n"                                \
	  " vmovdqu64 %zmm30, 0x20000+9b(%rip)\n"                                     \
	  " vpternlogd $0x96, 0x20000+9b(%rip), %zmm1, %zmm9\n"                       \
	  " vaddps 0x20000+9b(%rip){1to16}, %zmm1, %zmm20\n hlt")                     \
	X(far_evex_b, "F",                                                            \
	  ".byte 0x62, 0xd1, 0x7c, 0x48, 0x10, 0x05\n .long 0x20000+9b-4-.\n hlt")    \
	X(gather_evex, "F",                                                           \
	  "mov $5, %ecx\n 1: vpaddd %zmm7, %zmm5, %zmm5\n vpsrad $24, %zmm5, %zmm1\n" \
	  " vpmovd2m %zmm5, %k1\n vpgatherdd 3(%rsp,%zmm1,4), %zmm2{%k1}\n"           \
	  " vpmovd2m %zmm5, %k1\n vgatherdpd (%rsp,%ymm1,8), %zmm2{%k1}\n"            \
	  " vpsrlq $57, %zmm5, %zmm20\n vpmovq2m %zmm5, %k2\n"                        \
	  " vpgatherqq -64(%rsp,%zmm20,8), %zmm2{%k2}\n vpmovq2m %zmm5, %k2\n"        \
	  " vpscatterqq %zmm2, (%rsp,%zmm20,8){%k2}\n vpmovd2m %ymm5, %k3\n"          \
	  " vpscatterdd %ymm5, (%rsp,%ymm1,4){%k3}\n dec %ecx\n jnz 1b\n hlt")        \
	X(kmask_overflow_alive, "F",                                                  \
	  "mov $0x7fffffff, %eax\n add $1, %eax\n"                                    \
	  " vaddps %zmm1, %zmm2, %zmm3{%k3}\n jno 1f\n inc %edx\n 1: lahf\n hlt")     \
	X(far_masked, "F",                                                            \
	  "vmovupd 0x20000+9b(%rip), %zmm17{%k3}\n"                                   \
	  " vaddsd 0x20000+9b(%rip), %xmm18, %xmm29{%k1}{z}\n"                        \
	  " vmovdqu8 %zmm30, 0x20000+9b(%rip){%k7}\n kmovq 0x20000+9b(%rip), %k2\n"   \
	  " kmovw %k2, 0x20000+9b(%rip)\n hlt")                                       \
	X(kmask_widths, "F",                                                          \
	  "vaddpd %xmm1, %xmm2, %xmm3{%k1}\n"                                         \
	  " vaddps %ymm1, %ymm2, %ymm3{%k2}\n vaddps %zmm1, %zmm2, %zmm3{%k3}\n"      \
	  " vpaddw %zmm1, %zmm2, %zmm3{%k4}{z}\n vpaddb %zmm1, %zmm2, %zmm3{%k5}\n"   \
	  " vaddsd %xmm1, %xmm2, %xmm3{%k6}\n hlt")                                   \
	X(kmask_memory, "F",                                                          \
	  "vmovupd %zmm1, -128(%rsp){%k1}\n"                                          \
	  " vmovdqu8 -256(%rsp), %ymm9{%k2}{z}\n"                                     \
	  " vpcompressd %zmm4, -512(%rsp){%k3}\n"                                     \
	  " vpexpandq -512(%rsp), %zmm8{%k4}\n hlt")                                  \
	X(kmask_flags_alive, "F",                                                     \
	  "cmp %rax, %rbx\n"                                                          \
	  " vaddps %zmm1, %zmm2, %zmm3{%k3}\n jo 1f\n nop\n 1: jbe 2f\n nop\n"        \
	  " 2: jp 3f\n nop\n 3: lahf\n hlt")                                          \
	X(kmask_faults, "F",                                                          \
	  "xor %eax, %eax\n kxnorw %k3, %k3, %k3\n"                                   \
	  " vmovupd (%rax), %zmm3{%k3}\n hlt")                                        \
	X(scatter, "F",                                                               \
	  "kxnorw %k3, %k3, %k3\n vpsrad $29, %zmm5, %zmm6\n"                         \
	  " vpscatterdd %zmm7, -512(%rsp,%zmm6,4){%k3}\n hlt")

/* inc and dec leave the carry flag: it lives on from the cmp. */
#define SNIPPETS_CARRY(X)                                                  \
	X(vmask_carry_kept, "F",                                           \
	  "cmp %rax, %rbx\n"                                               \
	  " vmaskmovps -64(%rsp), %ymm2, %ymm4\n inc %edx\n jc 1f\n nop\n" \
	  " 1: adc %rcx, %rdx\n hlt")

#define SNIPPETS_CARRY_AVX512(X)                                        \
	X(kmask_carry_kept, "F",                                        \
	  "cmp %rax, %rbx\n"                                            \
	  " vaddps %zmm1, %zmm2, %zmm3{%k3}\n inc %edx\n jc 1f\n nop\n" \
	  " 1: adc %rcx, %rdx\n hlt")

struct snippet {
	const char *name, *path;
	const uint8_t *begin, *end;
};

/* The code lies in .rodata; it is copied to where it runs. */
#define SNIPPET_CODE(name, path, text)                                                      \
	__asm__(".pushsection .rodata\n"                                                    \
		"snippet_" #name ":\n9:\n" text "\nsnippet_" #name "_end:\n.popsection\n"); \
	extern const uint8_t snippet_##name[], snippet_##name##_end[];
#define SNIPPET_ROW(name, path, text) {#name, path, snippet_##name, snippet_##name##_end},
