#!/bin/sh
# SPDX-License-Identifier: MIT
# One object for a kernel to link: the library, both ports and the counts for each process, and of symbols only those that
# the kernel needs.
#
#     examples/processes/object.sh FILE [FLAG...]      CC and LD are the kernel's; FLAGs too: -m32, -mcmodel=kernel, -mno-red-zone
#
# Events have generic names, such as cycles.  -DUPMU_EVENTS_skl=1 adds those of a model, -DUPMU_EVENTS_ALL=1 those of all models.
#
# It asks the kernel for memcpy, memmove, memset and memcmp, and for nothing else.
set -eu
file=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cc=${CC:-cc}
emulation=elf_x86_64
case " $* " in *" -m32 "*) emulation=elf_i386 ;; esac
names=-DUPMU_EVENTS_ALL=0
case " $* " in *" -DUPMU_EVENTS_ALL="*) names= ;; esac

cat > "$room/Makefile" <<'END'
SOURCES := $(wildcard $(TOP)/core/*/*.c $(TOP)/backends/*/*.c $(TOP)/events/*.c $(TOP)/models/sim/*.c $(TOP)/port/x86_native/*.c \
	$(TOP)/examples/processes/*.c)
OBJECTS := $(notdir $(SOURCES:.c=.o))
vpath %.c $(sort $(dir $(SOURCES)))
all: $(OBJECTS)
	$(LD) -r -m $(EMULATION) -o all.o $(OBJECTS)
%.o: %.c
	$(CC) -std=c11 -ffreestanding -mgeneral-regs-only -fno-pie -fno-pic -fno-stack-protector -O2 $(FLAGS) \
		-I$(TOP)/include -I$(TOP) -c -o $@ $<
END
# (make splits paths at blanks)
ln -s "$top" "$room/upmu"
make -s -C "$room" -j"${JOBS:-2}" TOP="$room/upmu" CC="$cc" LD="${LD:-ld}" EMULATION=$emulation FLAGS="$names $*" all
missing=$(nm -u "$room/all.o" | awk '{print $2}' | grep -vxE 'memcpy|memmove|memset|memcmp' || true)
[ -z "$missing" ] || { echo "object.sh: these are missing:" $missing >&2; exit 1; }
# What the kernel sees: the calls of counts.h and of the library.
"${OBJCOPY:-objcopy}" --wildcard --keep-global-symbol='counts_*' --keep-global-symbol='upmu_*' "$room/all.o" "$file"
