// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

#include "go_asm.h"
#include "textflag.h"

// Sliding over shift brings the n first of 16 bytes to the end, behind zeros:
// the pattern for n begins at shift+n.
DATA shift<>+0(SB)/8, $0x8080808080808080
DATA shift<>+8(SB)/8, $0x8080808080808080
DATA shift<>+16(SB)/8, $0x0706050403020100
DATA shift<>+24(SB)/8, $0x0f0e0d0c0b0a0908
GLOBL shift<>(SB), RODATA|NOPTR, $32

DATA zeros<>+0(SB)/8, $0x3030303030303030
DATA zeros<>+8(SB)/8, $0x3030303030303030
GLOBL zeros<>(SB), RODATA|NOPTR, $16

DATA nines<>+0(SB)/8, $0x0909090909090909
DATA nines<>+8(SB)/8, $0x0909090909090909
GLOBL nines<>(SB), RODATA|NOPTR, $16

// By what neighbours are multiplied: digits, pairs of digits, fours.
DATA tens<>+0(SB)/8, $0x010a010a010a010a
DATA tens<>+8(SB)/8, $0x010a010a010a010a
GLOBL tens<>(SB), RODATA|NOPTR, $16

DATA hundreds<>+0(SB)/8, $0x0001006400010064
DATA hundreds<>+8(SB)/8, $0x0001006400010064
GLOBL hundreds<>(SB), RODATA|NOPTR, $16

DATA myriads<>+0(SB)/8, $0x0001271000012710
DATA myriads<>+8(SB)/8, $0x0001271000012710
GLOBL myriads<>(SB), RODATA|NOPTR, $16

DATA odd<>+0(SB)/8, $0xaaaaaaaaaaaaaaaa
GLOBL odd<>(SB), RODATA|NOPTR, $8

// Z16 to Z31 are used, which need no VZEROUPPER.
#define QUOTE     Z16
#define BACKSLASH Z17
#define NEWLINE   Z18
#define SPACE     Z19
#define BEYOND    Z20 // how many bytes from the space on are ASCII
#define KEY       Z21
#define BYTES     Z22
#define ANY       Z23
#define OPENING   Z24
#define CLOSING   Z25

// FILL sets all bytes of Z to BYTE.
#define FILL(BYTE, Z) \
	MOVL         BYTE, AX \
	VPBROADCASTB AX, Z

// FOLLOWS jumps to FOUND if KEY begins with the key NEXT(BEFORE), which then is
// in IS; to out if there is none.
#define FOLLOWS(BEFORE, NEXT, IS, FOUND) \
	MOVQ     (key_next+NEXT)(BEFORE), IS    \
	TESTQ    IS, IS                         \
	JZ       out                            \
	KMOVQ    key_mask(IS), K1               \
	VPCMPUB  $4, key_words(IS), KEY, K1, K2 \ // not equal
	KORTESTQ K2, K2                         \
	JZ       FOUND

// DIGITS counts the digits from AT on, up to 16, in N, of which X1 then has
// the values; all else in it is above 9.
#define DIGITS(AT, N) \
	VMOVDQU   (AT), X1            \
	VPSUBB    zeros<>(SB), X1, X1 \
	VPMINUB   nines<>(SB), X1, X2 \
	VPCMPEQB  X1, X2, X2          \
	VPMOVMSKB X2, N               \
	NOTL      N                   \
	TZCNTL    N, N

// SPECIAL returns in MASK a bit for each of BYTES that ends a string, or makes
// it other than plain.
#define SPECIAL(MASK) \
	VPCMPEQB QUOTE, BYTES, K1     \
	VPCMPEQB BACKSLASH, BYTES, K2 \
	VPSUBB   SPACE, BYTES, ANY    \
	VPCMPUB  $5, BEYOND, ANY, K3  \ // not less
	KORQ     K1, K2, K2           \
	KORQ     K2, K3, K2           \
	KMOVQ    K2, MASK

// func readMembers(p *parser, text *byte, i, n int, at *key) (next int, before *key, whole bool)
//
// SI key, R8 the key before it, R9 the key that it is
// DX value, AX its length, R15 its end, R14 all ones if it is a plain string
// DI p, BX fields that were seen, R13 those that are plain
TEXT ·readMembers(SB), NOSPLIT, $40-57
	MOVQ p+0(FP), DI
	MOVQ text+8(FP), AX
	MOVQ i+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ at+32(FP), R8
	ADDQ AX, SI
	LEAQ -const_margin(AX)(CX*1), CX
	MOVQ CX, last-8(SP)
	MOVL parser_seen(DI), BX
	XORL R13, R13
	FILL($0x22, QUOTE)
	FILL($0x5c, BACKSLASH)
	FILL($0x0a, NEWLINE)
	FILL($0x20, SPACE)
	FILL($0x60, BEYOND)

	// What is mapped, and not in a cache, comes too late by itself.
	PREFETCHT0 (const_prefetchAhead+0)(SI)
	PREFETCHT0 (const_prefetchAhead+64)(SI)
	PREFETCHT0 (const_prefetchAhead+128)(SI)
	PREFETCHT0 (const_prefetchAhead+192)(SI)
	PREFETCHT0 (const_prefetchAhead+256)(SI)
	PREFETCHT0 (const_prefetchAhead+320)(SI)
	PREFETCHT0 (const_prefetchAhead+384)(SI)
	PREFETCHT0 (const_prefetchAhead+448)(SI)
	PREFETCHT0 (const_prefetchAhead+512)(SI)

member:
	CMPQ SI, last-8(SP)
	JHI  out
	CMPB (SI), $0x20
	JEQ  space
	VMOVDQU64 (SI), KEY
	FOLLOWS(R8, 0, R9, known)
	FOLLOWS(R8, 8, R9, known)
	FOLLOWS(R8, 16, R9, known)
	FOLLOWS(R8, 24, R9, known)
	JMP out

space:
	INCQ SI
	JMP  member

known:
	MOVQ (key_text+8)(R9), DX
	CMPQ DX, $64
	JHI  out                       // there is more of it
	ADDQ SI, DX

value:
	MOVBLZX (DX), AX
	CMPL AX, $0x22
	JNE  other

	VMOVDQU64 1(DX), BYTES
	SPECIAL(AX)
	TZCNTQ   AX, AX
	JCS      long
	CMPB     1(DX)(AX*1), $0x22
	JNE      escaped
	ADDQ     $2, AX
	MOVL     $-1, R14

	// Where the next key begins has to be known before it can be read. If this
	// key's values had one length lately, that is taken for granted, and the
	// processor, which foresees that it is right, goes on at once.
sized:
	CMPL key_steady(R9), $const_steady
	JNE  unsteady
	MOVL key_size(R9), R15
	CMPQ AX, R15
	JNE  changed
	ADDQ DX, R15

ended:
	MOVBLZX (R15), AX
	CMPL AX, $0x2c                 // a comma
	JEQ  set
	CMPL AX, $0x7d                 // the end
	JNE  out

set:
	MOVL    key_bit(R9), CX
	TESTL   CX, BX
	JNZ     out                    // it is there twice
	ORL     CX, BX
	ANDL    CX, R14
	ORL     R14, R13
	MOVBLZX key_field(R9), CX
	MOVQ    text+8(FP), R10
	MOVQ    R15, R11
	SUBQ    R10, DX
	SUBQ    R10, R11
	MOVL    DX, parser_values(DI)(CX*8)
	MOVL    R11, (parser_values+4)(DI)(CX*8)
	MOVQ    R9, R8
	LEAQ    1(R15), SI
	CMPL    AX, $0x2c
	JEQ     member
	MOVB    $1, whole+56(FP)
	JMP     return

out:
	MOVB $0, whole+56(FP)

return:
	SUBQ text+8(FP), SI
	MOVQ SI, next+40(FP)
	MOVQ R8, before+48(FP)
	MOVL parser_seen(DI), AX
	MOVL BX, parser_seen(DI)
	XORL BX, AX
	ORL  AX, parser_present(DI)
	ORL  R13, parser_plain(DI)
	RET

unsteady:
	XORL  CX, CX
	CMPL  AX, key_size(R9)
	SETEQ CX
	MOVL  key_steady(R9), R15
	NEGL  CX
	INCL  R15
	ANDL  CX, R15
	MOVL  R15, key_steady(R9)
	MOVL  AX, key_size(R9)
	LEAQ  (DX)(AX*1), R15
	JMP   ended

changed:
	MOVL $0, key_steady(R9)
	MOVL AX, key_size(R9)
	LEAQ (DX)(AX*1), R15
	JMP  ended

long:
	LEAQ 1(DX), R15

longer:
	ADDQ   $64, R15
	CMPQ   R15, last-8(SP)
	JHI    out
	VMOVDQU64 (R15), BYTES
	SPECIAL(AX)
	TZCNTQ AX, AX
	JCS    longer
	ADDQ   AX, R15
	CMPB   (R15), $0x22
	JNE    escapes
	INCQ   R15
	MOVL   $-1, R14
	JMP    ended

	// Strings of containers are decoded instead: see parser.parse.
escaped:
	LEAQ 1(DX)(AX*1), R15

escapes:
	MOVBLZX key_field(R9), CX
	SUBL $const_fieldLog, CX
	CMPL CX, $(const_fieldNone-const_fieldLog)
	JLO  out

escape:
	CMPB (R15), $0x5c
	JNE  out                       // neither ASCII nor JSON
	CMPB 1(R15), $0x0a
	JEQ  out
	ADDQ $2, R15

unescaped:
	CMPQ R15, last-8(SP)
	JHI  out
	VMOVDQU64 (R15), BYTES
	SPECIAL(AX)
	TZCNTQ AX, CX
	ADDQ   CX, R15                 // 64 if there is none
	TESTQ  AX, AX
	JZ     unescaped
	CMPB   (R15), $0x22
	JNE    escape
	INCQ   R15
	XORL   R14, R14
	JMP    ended

spaced:
	INCQ DX
	CMPQ DX, last-8(SP)
	JLS  value
	JMP  out

other:
	CMPL AX, $0x20
	JEQ  spaced
	XORL R14, R14
	CMPL AX, $0x7b
	JEQ  object
	CMPL AX, $0x5b
	JEQ  nested
	MOVL (DX), CX
	LEAQ 4(DX), R15
	CMPL CX, $const_trueWord
	JEQ  ended
	CMPL CX, $const_nullWord
	JEQ  null
	CMPL CX, $0x736c6166           // fals
	JEQ  false

	DIGITS(DX, CX)
	CMPL CX, $1
	JLT  out
	JEQ  digits
	CMPL AX, $0x30                 // 0 is a number, 01 is none
	JEQ  out

digits:
	MOVL CX, AX
	JMP  sized

null:
	CMPB key_field(R9), $const_fieldResult
	JEQ  ended
	JMP  out

false:
	CMPB 4(DX), $0x65
	JNE  out
	INCQ R15
	JMP  ended

object:
	CMPB key_field(R9), $const_fieldMetrics
	JEQ  metrics

	// R10 depth, R11 whether the last block ended in a string, R12 opening
	// brackets, R14 closing ones
nested:
	VPBROADCASTB AX, OPENING
	ADDL $2, AX                    // the closing bracket comes two behind
	VPBROADCASTB AX, CLOSING
	VPCMPEQB X3, X3, X3
	LEAQ 1(DX), R15
	MOVL $1, R10
	XORL R11, R11
	MOVQ R11, carry-40(SP)

block:
	VMOVDQU64 (R15), BYTES
	VPCMPEQB BACKSLASH, BYTES, K1
	VPCMPEQB NEWLINE, BYTES, K2
	VPCMPEQB QUOTE, BYTES, K3
	VPCMPEQB OPENING, BYTES, K4
	VPCMPEQB CLOSING, BYTES, K5
	KMOVQ    K3, AX
	XORL     CX, CX
	KORTESTQ K1, K2
	JNZ      backslashes
	CMPQ     carry-40(SP), CX
	JNE      backslashes

quotes:
	VMOVQ    AX, X4
	VPCLMULQDQ $0, X3, X4, X4      // as OUTSIDE does it in nestedBlocks
	VMOVQ    X4, AX
	XORQ     R11, AX
	MOVQ     AX, R11
	SARQ     $63, R11
	ANDNQ    CX, AX, CX
	JNZ      out                   // a backslash outside of strings
	KMOVQ    K4, R12
	KMOVQ    K5, R14
	ANDNQ    R12, AX, R12
	ANDNQ    R14, AX, R14

bracket:
	TESTQ   R14, R14
	JZ      level
	BLSMSKQ R14, AX                // up to the first closing one
	ANDQ    R12, AX
	XORQ    AX, R12
	POPCNTQ AX, AX
	ADDQ    AX, R10
	DECQ    R10
	JZ      closed
	BLSRQ   R14, R14
	JMP     bracket

level:
	POPCNTQ R12, R12
	ADDQ    R12, R10
	ADDQ    $64, R15
	LEAQ    const_shortValue(DX), AX
	CMPQ    R15, AX
	JHI     out
	CMPQ    R15, last-8(SP)
	JLS     block
	JMP     out

	// See ESCAPES in nestedBlocks.
backslashes:
	KMOVQ K2, CX
	TESTQ CX, CX
	JNZ   out
	KMOVQ K1, CX
	MOVQ  carry-40(SP), R12
	ANDNQ CX, R12, R14             // those that may escape
	LEAQ  (R14)(R14*1), DI
	ORQ   odd<>(SB), DI
	SUBQ  R14, DI
	XORQ  odd<>(SB), DI
	ORQ   CX, R12
	XORQ  DI, R12                  // what is escaped
	ANDQ  CX, DI
	SHRQ  $63, DI
	MOVQ  DI, carry-40(SP)
	ANDNQ AX, R12, AX
	MOVQ  p+0(FP), DI
	JMP   quotes

closed:
	TZCNTQ R14, AX
	LEAQ   1(R15)(AX*1), AX
	SUBQ   DX, AX
	XORL   R14, R14
	JMP    sized

	// R10 the metrics, R11 their serial, R12 measures, R15 key, R9 the key
	// before it, DX the key that it is
metrics:
	MOVQ R9, keep-16(SP)
	MOVQ DX, start-24(SP)
	LEAQ parser_metrics(DI), R10
	MOVQ metrics_serial(R10), R11
	INCQ R11
	MOVQ R11, metrics_serial(R10)
	XORL R12, R12
	LEAQ metrics_start(R10), R9
	LEAQ 1(DX), R15
	LEAQ const_longMetrics(DX), DX
	MOVQ last-8(SP), AX
	CMPQ DX, AX
	CMOVQHI AX, DX
	MOVQ DX, most-32(SP)

metric:
	CMPQ R15, most-32(SP)
	JHI  out
	CMPB (R15), $0x20
	JEQ  spaceIn
	CMPQ R12, (metrics_measures+16)(R10)
	JGE  out
	VMOVDQU64 (R15), KEY
	FOLLOWS(R9, 0, DX, measured)
	FOLLOWS(R9, 8, DX, measured)
	FOLLOWS(R9, 16, DX, measured)
	FOLLOWS(R9, 24, DX, measured)
	JMP out

spaceIn:
	INCQ R15
	JMP  metric

measured:
	MOVQ DX, R9
	MOVQ (key_text+8)(R9), AX
	CMPQ AX, $64
	JHI  out
	ADDQ AX, R15
	CMPB key_counts(R9), $0
	JEQ  out
	CMPQ key_serial(R9), R11
	JEQ  out                       // it is there twice
	MOVQ R11, key_serial(R9)
	CMPB (R15), $0x20
	JNE  digit
	INCQ R15

	// Neighbours are multiplied and added: digits, pairs of digits, fours.
digit:
	DIGITS(R15, CX)
	LEAQ       shift<>(SB), AX
	VPSHUFB    (AX)(CX*1), X1, X1
	VPMADDUBSW tens<>(SB), X1, X1
	VPMADDWD   hundreds<>(SB), X1, X1
	VPACKUSDW  X1, X1, X1
	VPMADDWD   myriads<>(SB), X1, X1
	VMOVQ      X1, AX
	MOVL       AX, DX
	SHRQ       $32, AX
	IMULQ      $100000000, DX
	ADDQ       DX, AX
	CMPL       CX, $1
	JLT        out
	JEQ        number
	CMPB       (R15), $0x30
	JEQ        out

number:
	ADDQ    CX, R15
	MOVQ    metrics_measures(R10), DX
	MOVQ    R12, R14
	SHLQ    $4, R14
	ADDQ    R14, DX
	MOVL    key_number(R9), R14
	MOVBLZX (R15), CX
	INCQ    R15
	MOVL    R14, (DX)
	MOVQ    AX, 8(DX)
	NOTL    R14
	SHRL    $31, R14               // 1 if the number is not negative
	ADDQ    R14, R12
	CMPL    CX, $0x2c
	JEQ     metric
	CMPL    CX, $0x7d
	JNE     out
	MOVQ    R12, (metrics_measures+8)(R10)
	MOVQ    keep-16(SP), R9
	MOVQ    start-24(SP), DX
	XORL    R14, R14
	JMP     ended
