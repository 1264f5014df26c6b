; SPDX-License-Identifier: MIT
;
; A disk image that boots the 32-bit or the 64-bit multiboot kernel where there is no
; GRUB: on BIOS machines from a USB stick, and under Bochs.
;
;     nasm -f bin -DKERNEL='"upmu32.elf"' -DCOMMANDS='"info"' -o upmu.img loader.asm
;
; Sector 0 is this loader, sector 1 the command line, the ELF file follows.  It reads
; all of them with the BIOS (INT 13h function 42h) to 7E00h and up, then, in protected
; mode, does what multiboot 0.6.96 asks of a loader.

%ifndef COMMANDS
%define COMMANDS ""
%endif

COMMAND_LINE    equ 0x7e00
FILE            equ 0x8000
HIGHEST         equ 0x98000             ; the kernel's file ends below: 32 KiB under what BIOSes keep at 9FC00h
INFORMATION     equ 0x0800
CHUNK           equ 64                  ; sectors of one read: never across 64 KiB

bits 16
org 0x7c00
start:  jmp     0:begin
begin:  cli
        xor     ax, ax
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        mov     sp, 0x7c00
        sti
        cld
        mov     [drive], dl
read:   mov     si, packet
        mov     dl, [drive]
        mov     ah, 0x42
        int     0x13
        jc      failed
        mov     ax, [packet_count]
        add     [packet_sector], ax
        shl     ax, 5                   ; paragraphs
        add     [packet_segment], ax
        mov     word [packet_count], CHUNK
        cmp     word [packet_sector], sectors
        jb      read
        cli
        in      al, 0x92                ; A20
        or      al, 2
        and     al, 0xfe
        out     0x92, al
        lgdt    [gdt_descriptor]
        mov     eax, cr0
        or      al, 1
        mov     cr0, eax
        jmp     dword 8:protected

failed: mov     si, message
.next:  lodsb
        test    al, al
        jz      .stop
        mov     ah, 0x0e
        mov     bx, 7
        int     0x10
        jmp     .next
.stop:  hlt
        jmp     .stop

bits 32
protected:
        mov     ax, 16
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        mov     ebp, FILE
        movzx   edx, word [ebp + 44]    ; e_phnum
        mov     ebx, [ebp + 28]         ; e_phoff
        add     ebx, ebp
one:    cmp     dword [ebx], 1          ; PT_LOAD
        jne     next
        mov     esi, [ebx + 4]          ; p_offset
        add     esi, ebp
        mov     edi, [ebx + 12]         ; p_paddr
        mov     ecx, [ebx + 16]         ; p_filesz
        rep movsb
        mov     ecx, [ebx + 20]         ; p_memsz
        sub     ecx, [ebx + 16]
        xor     eax, eax
        rep stosb
next:   movzx   eax, word [ebp + 42]    ; e_phentsize
        add     ebx, eax
        dec     edx
        jnz     one
        mov     ebx, INFORMATION
        mov     dword [ebx], 4          ; there is a command line
        mov     dword [ebx + 16], COMMAND_LINE
        mov     eax, 0x2badb002
        mov     ecx, [ebp + 24]         ; e_entry
        jmp     ecx

align 4
packet: db      16, 0
packet_count:
        dw      1
        dw      0
packet_segment:
        dw      COMMAND_LINE / 16
packet_sector:
        dd      1, 0
align 8
gdt:    dq      0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdt_descriptor:
        dw      23
        dd      gdt
drive:  db      0
message: db     "upmu: the disk cannot be read", 0

        times 446 - ($ - $$) db 0
        db      0x80, 0, 2, 0, 0x7f, 0xfe, 0xff, 0xff ; a partition: some BIOSes want one
        dd      1, sectors - 1
        times 510 - ($ - $$) db 0
        dw      0xaa55

        db      COMMANDS, 0
        times 1024 - ($ - $$) db 0
kernel: incbin  KERNEL
        align   512, db 0
kernel_end:
        times (CHUNK - ((kernel_end - $$) / 512 - 2) % CHUNK) * 512 db 0 ; whole reads
sectors equ ($ - $$) / 512
%if (kernel_end - kernel) > HIGHEST - FILE
%error "the kernel is too large for this loader: strip it"
%endif
