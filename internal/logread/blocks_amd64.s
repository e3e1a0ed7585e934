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

// ESCAPED makes R10 the bytes behind an odd number of BACKSLASHES. Before, it says
// whether the first one is. The backslashes that escape are those that are also
// in ODD. MAY and DX are used.
#define ESCAPED(BACKSLASHES, MAY, ODD) \
	ANDNQ BACKSLASHES, R10, MAY   \
	LEAQ  (MAY)(MAY*1), ODD       \
	MOVQ  $0xaaaaaaaaaaaaaaaa, DX \
	ORQ   DX, ODD                 \
	SUBQ  MAY, ODD                \
	XORQ  DX, ODD                 \
	ORQ   BACKSLASHES, R10        \
	XORQ  ODD, R10

// bytes has one of each byte that the registers are filled with.
DATA bytes<>+0(SB)/8, $0x000a1f09025c2230
GLOBL bytes<>(SB), RODATA|NOPTR, $8

// FILL sets all bytes of Y to byte N of bytes.
#define FILL(N, Y) VPBROADCASTB bytes<>+N(SB), Y

#define ZERO Y8 // the digit
#define NINE Y6
#define TWO Y7
#define LAST Y9 // the last control character
#define OPENING Y10
#define CLOSING Y11 // which comes two behind
#define QUOTE Y12
#define BACKSLASH Y13
#define NEWLINE Y14

// START fills the registers that nested needs.
#define START \
	FILL(1, QUOTE)     \
	FILL(2, BACKSLASH) \
	FILL(3, TWO)       \
	FILL(6, NEWLINE)   \
	VPCMPEQB X15, X15, X15

// nested returns in BX the index behind the value at AX of the text at SI, whose
// room is R8. See nestedBlocks. It keeps SI, DI, R8 and R11.
//
// AX quotes, then bytes outside of strings, then the number of closing brackets
// CX opening brackets, R15 closing ones, R13 newlines, R12 backslashes
// R14 depth, R9 inside, R10 escaped
TEXT nested<>(SB), NOSPLIT, $0
	VPBROADCASTB (SI)(AX*1), OPENING
	VPADDB       TWO, OPENING, CLOSING
	LEAQ 1(AX), BX
	MOVL $1, R14
	XORL R9, R9
	XORL R10, R10

loop:
	LEAQ 65(BX), CX
	CMPQ CX, R8
	JGT  unknown
	VMOVDQU (SI)(BX*1), Y0
	VMOVDQU 32(SI)(BX*1), Y1
	PREFETCHT0 4096(SI)(BX*1)      // memory comes too late by itself
	MASK(QUOTE, AX)

	// Most blocks have neither a backslash nor a newline.
	XORL R12, R12
	XORL R13, R13
	VPCMPEQB BACKSLASH, Y0, Y4
	VPCMPEQB NEWLINE, Y0, Y5
	VPCMPEQB BACKSLASH, Y1, Y2
	VPCMPEQB NEWLINE, Y1, Y3
	VPOR     Y4, Y5, Y4
	VPOR     Y2, Y3, Y2
	VPOR     Y4, Y2, Y4
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
	MASK(OPENING, CX)
	MASK(CLOSING, R15)
	ANDQ       AX, CX
	ANDQ       AX, R15
	ANDQ       AX, R12             // backslashes where none may be
	ORQ        R13, R12
	POPCNTQ    R15, AX
	CMPQ       AX, R14
	JGE        ends

next:
	TESTQ   R12, R12
	JNZ     unknown
	SUBQ    AX, R14
	POPCNTQ CX, CX
	ADDQ    CX, R14
	ADDQ    $64, BX
	JMP     loop

ends: // perhaps: of each closing bracket, count the opening ones before
	DECQ    R14
	BLSMSKQ R15, DX
	ANDQ    CX, DX
	POPCNTQ DX, DX
	ADDQ    R14, DX
	JZ      end
	BLSRQ   R15, R15
	JNZ     ends
	XORL    AX, AX                 // R14 is less by them already
	JMP     next

end:
	BLSMSKQ R15, DX
	TESTQ   DX, R12
	JNZ     unknown
	TZCNTQ  R15, R15
	LEAQ    1(BX)(R15*1), BX
	RET

unknown:
	XORL BX, BX
	RET

rare:
	MASK(BACKSLASH, R12)
	MASK(NEWLINE, R13)

escapes:
	// Take out the quotes behind an odd number of backslashes.
	ESCAPED(R12, CX, R15)
	ANDNQ AX, R10, AX
	ANDQ  R12, R15
	MOVQ  R15, R10
	SHRQ  $63, R10                 // is the first byte of the next block?
	JMP   brackets

// func nestedBlocks(text *byte, i, room int) (end int)
TEXT ·nestedBlocks(SB), NOSPLIT, $0-32
	MOVQ text+0(FP), SI
	MOVQ i+8(FP), AX
	MOVQ room+16(FP), R8
	START
	CALL nested<>(SB)
	MOVQ BX, end+24(FP)
	VZEROUPPER
	RET

// numbers has what turns digits into numbers, four, two and one at a time.
DATA numbers<>+0(SB)/8, $0x010a010a010a010a
DATA numbers<>+8(SB)/8, $0x010a010a010a010a
DATA numbers<>+16(SB)/8, $0x0001006400010064
DATA numbers<>+24(SB)/8, $0x0001006400010064
DATA numbers<>+32(SB)/8, $0x0001271000012710
DATA numbers<>+40(SB)/8, $0x0001271000012710
GLOBL numbers<>(SB), RODATA|NOPTR, $48

// shift has 16 bytes of zeros by number, before the numbers of 16 bytes.
DATA shift<>+0(SB)/8, $-1
DATA shift<>+8(SB)/8, $-1
DATA shift<>+16(SB)/8, $0x0706050403020100
DATA shift<>+24(SB)/8, $0x0f0e0d0c0b0a0908
GLOBL shift<>(SB), RODATA|NOPTR, $32

// func memberBlocks(text *byte, i, n, room int, lines *keyLine, spans *[fieldCount]span, found *[mostFound]foundMember, state *[memberWords]uint64)
//
// SI text, R8 its room, AX and BX where a value begins and ends
// DX lines, R11 the last key's line, as an index of bytes, R10 those that may come
// R9 spans, DI where the next member that is found goes
// R14 the fields that were seen, R15 those that are plain
TEXT ·memberBlocks(SB), NOSPLIT, $40-64
	MOVQ text+0(FP), SI
	MOVQ i+8(FP), AX
	MOVQ room+24(FP), R8
	MOVQ lines+32(FP), DX
	MOVQ spans+40(FP), R9
	MOVQ found+48(FP), DI
	MOVQ state+56(FP), CX
	MOVQ (8*const_memberLine)(CX), R11
	MOVQ (8*const_memberSeen)(CX), R14
	MOVQ (8*const_memberPlain)(CX), R15
	FILL(0, ZERO)
	FILL(4, NINE)
	FILL(5, LAST)
	MOVQ $0, end-8(SP)
	START

member:
	LEAQ 160(AX), CX               // a key, a blank, a value and what is behind
	CMPQ CX, R8
	JGT  stop
	CMPB (SI)(AX*1), $0x20
	JEQ  blank
	VMOVDQU (SI)(AX*1), Y0
	VMOVDQU 32(SI)(AX*1), Y1
	MOVQ R11, line-16(SP)
	MOVL const_lineNext(DX)(R11*1), R10

key:
	MOVBLZX R10, R11
	SHLL    $7, R11
	JZ      stop
	VPXOR   (DX)(R11*1), Y0, Y2
	VPTEST  const_lineMask(DX)(R11*1), Y2
	JNZ     other
	VPXOR   32(DX)(R11*1), Y1, Y3
	VPTEST  (const_lineMask+32)(DX)(R11*1), Y3
	JZ      known

other:
	SHRL $8, R10
	JMP  key

blank:
	INCQ AX
	JMP  member

known:
	MOVL R11, (DI)
	MOVL AX, 4(DI)
	MOVBLZX const_lineLength(DX)(R11*1), R13
	ADDQ R13, AX
	CMPB (SI)(AX*1), $0x20
	JNE  value
	INCQ AX

value:
	CMPB (SI)(AX*1), $0x22
	JNE  scalar
	LEAQ 1(AX), BX

string:
	VMOVDQU   (SI)(BX*1), Y0
	VPCMPGTB  LAST, Y0, Y1
	VPCMPEQB  QUOTE, Y0, Y2
	VPCMPEQB  BACKSLASH, Y0, Y3
	VPOR      Y2, Y3, Y2
	VPANDN    Y1, Y2, Y1
	VPMOVMSKB Y1, R12
	XORL      $-1, R12             // bytes that are not plain
	JZ        plain
	TZCNTL    R12, R12
	ADDQ R12, BX
	CMPB (SI)(BX*1), $0x22
	JNE  stop
	INCQ BX
	MOVBLZX const_lineField(DX)(R11*1), CX
	BTSQ CX, R15
	MOVL $const_listsStrings, R10
	MOVQ $-1, R13

found:
	CMPQ BX, n+16(FP)
	JGE  stop
	TESTQ R9, R9
	JZ   metric
	MOVBLZX const_lineField(DX)(R11*1), CX
	BTSQ CX, R14
	JCC  slot
	CMPL CX, $const_fieldNone      // only such a member may come again
	JNE  stop

slot:
	MOVL AX, (R9)(CX*8)
	MOVL BX, 4(R9)(CX*8)
	TESTB R10, const_lineLists(DX)(R11*1)
	JNZ  list

behind:
	MOVQ BX, end-8(SP)
	LEAQ 1(BX), AX
	CMPB (SI)(BX*1), $0x2c
	JEQ  member
	MOVQ R11, line-16(SP)
	JMP  stop

list:
	MOVL AX, 8(DI)
	MOVL BX, 12(DI)
	JMP  note

metric:
	MOVL AX, 4(DI)
	MOVQ R13, 8(DI)

note:
	MOVQ BX, end-8(SP)
	MOVQ R11, line-16(SP)
	MOVQ found+48(FP), CX
	ADDQ $16, DI
	ADDQ $(16*(const_mostFound-1)), CX
	CMPQ DI, CX
	JNE  behind
	JMP  stop

plain:
	ADDQ $32, BX
	LEAQ 64(BX), CX
	CMPQ CX, R8
	JLE  string
	JMP  stop

scalar:
	MOVBLZX (SI)(AX*1), CX
	CMPL CX, $0x7b                 // an object
	JEQ  nested
	CMPL CX, $0x5b                 // an array
	JEQ  nested
	VMOVDQU   (SI)(AX*1), Y0
	VPSUBB    ZERO, Y0, Y0
	VPMINUB   NINE, Y0, Y1
	VPCMPEQB  Y0, Y1, Y1
	VPMOVMSKB Y1, R12
	XORL R10, R10                  // not listed
	MOVQ $-1, R13
	NOTL R12
	TZCNTL    R12, R12             // the number of digits
	JZ        word
	CMPL R12, $16
	JGT  stop
	LEAQ (AX)(R12*1), BX
	CMPL CX, $0x30
	JNE  number
	CMPL R12, $1
	JNE  stop

number:
	LEAQ shift<>(SB), CX
	VPSHUFB (CX)(R12*1), X0, X0    // behind zeros
	VPMADDUBSW numbers<>+0(SB), X0, X0
	VPMADDWD   numbers<>+16(SB), X0, X0
	VPACKUSDW  X0, X0, X0
	VPMADDWD   numbers<>+32(SB), X0, X0
	VMOVQ X0, R12
	MOVL  R12, CX
	SHRQ  $32, R12
	IMULQ $100000000, CX
	LEAQ  (R12)(CX*1), R13

last:
	CMPB (SI)(BX*1), $0x2c
	JEQ  found
	CMPB (SI)(BX*1), $0x7d
	JEQ  found
	JMP  stop

word:
	MOVL (SI)(AX*1), R12
	LEAQ 4(AX), BX
	CMPL R12, $0x65757274          // true
	JEQ  last
	CMPL R12, $0x736c6166          // fals
	JNE  stop
	CMPB (SI)(BX*1), $0x65
	JNE  stop
	INCQ BX
	JMP  last

nested:
	TESTB $const_listsMembers, const_lineLists(DX)(R11*1)
	JNZ  stop
	MOVQ R14, seen-24(SP)
	MOVQ R15, plain-32(SP)
	MOVQ AX, start-40(SP)
	CALL nested<>(SB)
	MOVQ lines+32(FP), DX
	MOVQ spans+40(FP), R9
	MOVQ seen-24(SP), R14
	MOVQ plain-32(SP), R15
	MOVQ start-40(SP), AX
	MOVL $const_listsNested, R10
	MOVQ $-1, R13
	CMPQ BX, $0
	JLE  stop
	JMP  found

stop:
	MOVQ state+56(FP), CX
	MOVQ end-8(SP), BX
	MOVQ line-16(SP), R11
	MOVQ R11, (8*const_memberLine)(CX)
	MOVQ BX, (8*const_memberEnd)(CX)
	MOVQ R14, (8*const_memberSeen)(CX)
	MOVQ R15, (8*const_memberPlain)(CX)
	SUBQ found+48(FP), DI
	SHRQ $4, DI
	MOVQ DI, (8*const_memberFound)(CX)
	VZEROUPPER
	RET

// KEEP writes those of eight bytes that R15 has bits for.
#define KEEP(N) \
	MOVBLZX R15, AX            \
	VMOVQ   (8*N)(SI), X0      \
	VPSHUFB (R9)(AX*8), X0, X0 \
	VMOVQ   X0, (DI)           \
	POPCNTL AX, AX             \
	ADDQ    AX, DI             \
	SHRQ    $8, R15

// func unescapeBlocks(dst *byte, room int, text *byte, n int, kept *[257]uint64) (written, read int)
//
// DI dst, R12 where its last 64 bytes are, SI text, R8 where its last ones are
// AX quotes, BX backslashes, CX where to stop, R10 escaped bytes, then whether
// the next one is, R14 backslashes that escape, R15 all other bytes
// R11 how many of the bytes are read
TEXT ·unescapeBlocks(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ room+8(FP), R12
	MOVQ text+16(FP), SI
	MOVQ n+24(FP), R8
	MOVQ kept+32(FP), R9
	LEAQ -64(DI)(R12*1), R12
	LEAQ -64(SI)(R8*1), R8
	START
	XORL R10, R10

loop:
	CMPQ DI, R12
	JHI  full
	CMPQ SI, R8
	JHI  full
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	MASK(QUOTE, AX)
	MASK(BACKSLASH, BX)
	MASK(NEWLINE, CX)
	ESCAPED(BX, R13, R14)
	ANDQ  BX, R14
	MOVQ  R14, R15
	NOTQ  R15
	ANDNQ AX, R10, DX
	ORQ   DX, CX
	ORQ   AX, BX
	ANDNQ R10, BX, BX              // neither a quote nor a backslash
	SHRQ  $63, R14
	MOVL  $64, R11
	ORQ   BX, CX
	JZ    keep
	TZCNTQ CX, R11
	BZHIQ  R11, R15, R15
	SHRXQ  R11, R10, R10
	ANDL   $1, R10
	MOVQ   R10, R14

keep:
	KEEP(0)
	KEEP(1)
	KEEP(2)
	KEEP(3)
	KEEP(4)
	KEEP(5)
	KEEP(6)
	KEEP(7)
	MOVQ R14, R10
	ADDQ R11, SI
	CMPL R11, $64
	JEQ  loop

full:
	SUBQ R10, SI                   // of an escape, the backslash comes first
	SUBQ dst+0(FP), DI
	SUBQ text+16(FP), SI
	MOVQ DI, written+40(FP)
	MOVQ SI, read+48(FP)
	VZEROUPPER
	RET

// func cpuid(leaf uint32) (b, c uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-16
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL BX, b+8(FP)
	MOVL CX, c+12(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
