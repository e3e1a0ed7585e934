// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

#include "go_asm.h"
#include "textflag.h"

// MASK sets a bit of M for each of the 64 bytes in Y0 and Y1 that is BYTE.
#define MASK(BYTE, M) \
	VPCMPEQB  BYTE, Y0, Y4 \
	VPCMPEQB  BYTE, Y1, Y5 \
	VPMOVMSKB Y4, M        \
	VPMOVMSKB Y5, DX       \
	SHLQ      $32, DX      \
	ORQ       DX, M

// FILL sets all bytes of Y, whose lower half is X, to BYTE.
#define FILL(BYTE, X, Y) \
	MOVL         BYTE, AX \
	VMOVD        AX, X    \
	VPBROADCASTB X, Y

// nestedBlocks has these registers:
//
// SI text, CX blocks that are left, DI the state
// AX quotes, then bytes outside of strings
// BX opening brackets, R11 closing ones, R13 newlines, R12 backslashes
// R8 depth, R9 inside, R10 escaped

// func nestedBlocks(text *byte, blocks int, opening byte, state *[stateWords]uint64) int
TEXT ·nestedBlocks(SB), NOSPLIT, $0-40
	MOVBLZX opening+16(FP), BX
	FILL(BX, X10, Y10)
	ADDL $2, BX                    // the closing bracket comes two behind
	FILL(BX, X11, Y11)
	FILL($0x22, X12, Y12)          // quote
	FILL($0x5c, X13, Y13)          // backslash
	FILL($0x0a, X14, Y14)          // newline
	VPCMPEQB X15, X15, X15
	MOVQ text+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ state+24(FP), DI
	MOVQ (8*const_stateDepth)(DI), R8
	MOVQ (8*const_stateInside)(DI), R9
	MOVQ (8*const_stateEscaped)(DI), R10

loop:
	TESTQ CX, CX
	JZ    stop
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	PREFETCHT0 4096(SI)            // memory comes too late by itself
	MASK(Y12, AX)

	// Most blocks have neither a backslash nor a newline.
	XORL R12, R12
	XORL R13, R13
	VPCMPEQB Y13, Y0, Y4
	VPCMPEQB Y14, Y0, Y5
	VPCMPEQB Y13, Y1, Y6
	VPCMPEQB Y14, Y1, Y7
	VPOR     Y4, Y5, Y4
	VPOR     Y6, Y7, Y6
	VPOR     Y4, Y6, Y4
	VPTEST   Y4, Y4
	JNZ      rare
	TESTQ    R10, R10
	JNZ      escapes

brackets:
	// A byte is inside a string if the number of quotes up to it is odd. The
	// product with all ones, without carries, has the parity of all bits before.
	VMOVQ      AX, X4
	VPCLMULQDQ $0, X15, X4, X4
	VMOVQ      X4, AX
	XORQ       R9, AX
	MOVQ       AX, R9
	SARQ       $63, R9
	NOTQ       AX
	MASK(Y10, BX)
	MASK(Y11, R11)

	// Count the brackets, unless the value may end here or something is odd.
	ANDQ    AX, BX
	ANDQ    AX, R11
	POPCNTQ R11, R14
	POPCNTQ BX, R15
	ANDQ    AX, R12            // backslashes where none may be
	MOVQ    R12, DX
	ORQ     R13, DX
	JNZ     stop
	CMPQ    R8, R14
	JLE     stop
	SUBQ    R14, R8
	ADDQ    R15, R8
	ADDQ    $64, SI
	DECQ    CX
	JMP     loop

rare:
	MASK(Y13, R12)
	MASK(Y14, R13)

escapes:
	// Take out the quotes behind an odd number of backslashes.
	MOVQ R10, R14
	NOTQ R14
	ANDQ R12, R14            // backslashes that are not escaped themselves
	MOVQ R14, R15
	SHLQ $1, R15
	MOVQ $0xaaaaaaaaaaaaaaaa, DX
	ORQ  DX, R15
	SUBQ R14, R15
	XORQ DX, R15
	MOVQ R12, DX
	ORQ  R10, DX
	XORQ R15, DX            // escaped
	MOVQ R15, R10
	ANDQ R12, R10
	SHRQ $63, R10            // is the first byte of the next block?
	NOTQ DX
	ANDQ DX, AX
	JMP brackets

stop:
	MOVQ R8, (8*const_stateDepth)(DI)
	MOVQ R9, (8*const_stateInside)(DI)
	MOVQ R10, (8*const_stateEscaped)(DI)
	MOVQ BX, (8*const_stateOpening)(DI)
	MOVQ R11, (8*const_stateClosing)(DI)
	MOVQ R13, (8*const_stateNewlines)(DI)
	MOVQ R12, (8*const_stateOdd)(DI)
	MOVQ blocks+8(FP), AX
	SUBQ CX, AX
	MOVQ AX, ret+32(FP)
	VZEROUPPER
	RET

// func specialBlock(text *byte) uint64
TEXT ·specialBlock(SB), NOSPLIT, $0-16
	MOVQ text+0(FP), SI
	FILL($0x22, X12, Y12)
	FILL($0x5c, X13, Y13)
	FILL($0x0a, X14, Y14)
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	MASK(Y12, AX)
	MASK(Y13, BX)
	MASK(Y14, CX)
	ORQ  BX, AX
	ORQ  CX, AX
	MOVQ AX, ret+8(FP)
	VZEROUPPER
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
