// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

#include "textflag.h"

// The letters of escapes of two bytes, but for the quote, by their lower six
// bits. The others are letters whose lower six bits are different.
DATA letters<>+0x00(SB)/8, $0x0000000000000001
DATA letters<>+0x08(SB)/8, $0
DATA letters<>+0x10(SB)/8, $0
DATA letters<>+0x18(SB)/8, $0x0000005c00000000 // backslash
DATA letters<>+0x20(SB)/8, $0x0066000000620000 // b f
DATA letters<>+0x28(SB)/8, $0x2f6e000000000000 // n /
DATA letters<>+0x30(SB)/8, $0x0000007400720000 // r t
DATA letters<>+0x38(SB)/8, $0
GLOBL letters<>(SB), RODATA|NOPTR, $64

// What they mean.
DATA meanings<>+0x00(SB)/8, $0
DATA meanings<>+0x08(SB)/8, $0
DATA meanings<>+0x10(SB)/8, $0
DATA meanings<>+0x18(SB)/8, $0x0000005c00000000
DATA meanings<>+0x20(SB)/8, $0x000c000000080000
DATA meanings<>+0x28(SB)/8, $0x2f0a000000000000
DATA meanings<>+0x30(SB)/8, $0x00000009000d0000
DATA meanings<>+0x38(SB)/8, $0
GLOBL meanings<>(SB), RODATA|NOPTR, $64

// Z16 to Z31 are used, which need no VZEROUPPER.
#define QUOTE     Z16
#define BACKSLASH Z17
#define NEWLINE   Z18
#define BYTES     Z19
#define LETTERS   Z20

// FILL sets all bytes of Z to BYTE.
#define FILL(BYTE, Z) \
	MOVL         BYTE, AX \
	VPBROADCASTB AX, Z

// func unescapeBlocks(dst *byte, room int, text *byte, n int) (written, read int)
//
// DI dst, R12 where its last 64 bytes are, SI text, R13 how much of it is left
// AX quotes, BX backslashes, CX where to stop, R10 escaped bytes, then whether
// the next one is, R14 backslashes that escape, R15 all other bytes
TEXT ·unescapeBlocks(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ room+8(FP), R12
	MOVQ text+16(FP), SI
	MOVQ n+24(FP), R13
	LEAQ -64(DI)(R12*1), R12
	FILL($0x22, QUOTE)
	FILL($0x5c, BACKSLASH)
	FILL($0x0a, NEWLINE)
	MOVQ $0xaaaaaaaaaaaaaaaa, R11
	XORL R10, R10

loop:
	CMPQ DI, R12
	JHI  full
	CMPQ R13, $64
	JLT  tail
	VMOVDQU64 (SI), BYTES
	XORL R9, R9                    // the end of the text

block:
	VPCMPEQB QUOTE, BYTES, K1
	VPCMPEQB BACKSLASH, BYTES, K2
	VPCMPEQB NEWLINE, BYTES, K3
	KMOVQ    K1, AX
	KMOVQ    K2, BX
	KMOVQ    K3, CX

	// Which bytes are escaped: those behind an odd number of backslashes.
	ANDNQ BX, R10, DX              // backslashes that may escape
	LEAQ  (DX)(DX*1), R14
	ORQ   R11, R14
	SUBQ  DX, R14
	XORQ  R11, R14
	ORQ   BX, R10
	XORQ  R14, R10
	ANDQ  BX, R14
	MOVQ  R14, R15
	NOTQ  R15
	KMOVQ R15, K1

	ORQ   R9, CX
	ANDNQ AX, R10, DX
	ORQ   DX, CX
	ORQ   AX, BX
	ANDNQ R10, BX, BX              // neither a quote nor a backslash
	ORQ   CX, BX
	JNZ   rare

next:
	VPCOMPRESSB.Z BYTES, K1, BYTES
	VMOVDQU64     BYTES, (DI)
	POPCNTQ R15, R15
	ADDQ    R15, DI
	MOVQ    R14, R10
	SHRQ    $63, R10
	ADDQ    $64, SI
	SUBQ    $64, R13
	JMP     loop

rare:
	ANDNQ   R10, AX, BX
	KMOVQ   BX, K2
	VPERMB  letters<>(SB), BYTES, LETTERS
	VPCMPUB $4, LETTERS, BYTES, K2, K3 // not equal
	VPERMB  meanings<>(SB), BYTES, K2, BYTES
	KMOVQ   K3, DX
	ORQ     DX, CX
	JZ      next

	TZCNTQ  CX, CX
	BZHIQ   CX, R15, R15
	VPCOMPRESSB.Z BYTES, K1, BYTES
	VMOVDQU64     BYTES, (DI)
	POPCNTQ R15, R15
	ADDQ    R15, DI
	ADDQ    CX, SI
	SHRQ    CX, R10
	ANDL    $1, R10

full:
	SUBQ R10, SI                   // of an escape, the backslash comes first
	SUBQ dst+0(FP), DI
	SUBQ text+16(FP), SI
	MOVQ DI, written+32(FP)
	MOVQ SI, read+40(FP)
	RET

tail:
	MOVQ  $-1, DX
	BZHIQ R13, DX, DX
	KMOVQ DX, K1
	VMOVDQU8.Z (SI), K1, BYTES     // does not touch what is behind
	XORL  R9, R9
	BTSQ  R13, R9
	JMP   block
