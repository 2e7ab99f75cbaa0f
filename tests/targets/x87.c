/* The x87 unit: memory operands of 4, 8 and 10 bytes, integers, and operations without flop. */
#include "truth.h"

enum { N = 5000, CALLS = 4 };

/* rdi = n, rsi = x, rdx = y: s ← Σ x·y, returned through the red zone */
KERNEL(x87_dot,
		fldz;
		xor eax, eax;
	1:	fld qword ptr [rsi + rax*8];			/* 8 loaded */
		fmul qword ptr [rdx + rax*8];			/* 8 loaded */
		faddp st(1), st;
		inc rax;
		cmp rax, rdi;
		jne 1b;
		fstp qword ptr [rsp - 8];			/* 8 stored */
		movsd xmm0, [rsp - 8];				/* 8 loaded */
		ret);

/* rdi = n, rsi = 10 + 6 bytes, a float, an integer of 4 bytes */
KERNEL(x87_mix,
		mov eax, edi;
	1:	fld tbyte ptr [rsi];				/* 10 loaded */
		fadd dword ptr [rsi + 16];			/* 4 loaded */
		fiadd dword ptr [rsi + 20];			/* 4 loaded */
		fld st(0);
		fdivp st(1), st;
		fsqrt;
		fchs;
		fabs;
		fldpi;
		fxch st(1);
		fsubp st(1), st;
		fild dword ptr [rsi + 20];			/* 4 loaded */
		fcomip st, st(1);
		fstp tbyte ptr [rsi + 32];			/* 10 stored */
		dec eax;
		jne 1b;
		ret);

double x87_dot(uint64_t n, const double *x, const double *y);
void x87_mix(uint64_t n, void *data);

int main(void)
{
	static struct { long double a; float b; int32_t c; double pad; long double result; } data
		= { 2.5L, 1.5f, 3, 0, 0 };
	double *x = doubles(N, 1.5), *y = doubles(N, 2), total = 0;

	for (int call = 0; call < CALLS; call++)
		total += x87_dot(N, x, y);
	x87_mix(N, &data);
	printf("sum %.17g, mix %.17Lg\n", total, data.result);
	TRUTH("x87_dot", .instructions = CALLS * (2 + 6 * N + 3),
	      .load_bytes = CALLS * (16 * N + 8 + 8), .store_bytes = CALLS * 8,
	      KINDS({ "mul_x87_scalar", CALLS * N }, { "add_x87_scalar", CALLS * N }));
	TRUTH("x87_mix", .instructions = 1 + 16 * N + 1, .load_bytes = (10 + 4 + 4 + 4) * N + 8,
	      .store_bytes = 10 * N,
	      KINDS({ "add_x87_scalar", 3 * N }, { "div_x87_scalar", N }, { "sqrt_x87_scalar", N }));
	free(x);
	free(y);
	return 0;
}
