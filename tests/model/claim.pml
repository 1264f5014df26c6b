/* SPDX-License-Identifier: MIT */
/*
 * Two CPUs share a register: claims by compare-and-swap (README.md, "claim.pml").
 *
 * A session needs a value in the shared register; sessions of both CPUs may run if they need the same
 * value.  Some sessions need a second resource, which one CPU has at a time.  A start whose value is not
 * that of the session that runs moves that session to another register first.
 */
#ifndef CALLS
#define CALLS 3 /* for each CPU */
#endif

#define NONE 2
#define UNKNOWN 0   /* values are 1 and 2 */
#define me (1 << c)

/* The shared register, and what a session on it counts by. */
byte shared_register = 1;
byte counts_by[2];      /* value that the running session of a CPU needs, or 0: nothing runs there */

/* The domain's claim words: each is changed by one compare-and-swap. */
byte holders, claimed;  /* CPUs that hold the register, and for what value */
bool changing;          /* its only holder is about to change the value */
byte second = NONE;     /* CPU that holds the second resource */

byte calls_done;

inline claim_register()
{
    d_step {
        if
        :: holders == 0 ->
            holders = me;
            claimed = value;
            fresh = true
        :: holders == me && claimed == value
        :: holders == me && claimed != value ->
#ifdef J1
            claimed = value
#else
            changing = true
#endif
        :: (holders & ~me) && !(holders & me) && claimed == value && !changing ->
            holders = holders | me;
            fresh = true
        :: (holders & ~me) && (holders & me) && claimed == value
        :: else -> lost = true
        fi
    };
#ifndef KNOWN
    if
    :: fresh -> shadow = UNKNOWN
    :: else
    fi
#endif
}

inline claim_second()
{
    d_step {
        if
        :: second == NONE || second == c -> second = c
        :: else -> lost = true
        fi
    }
}

/* Claims become those of what runs: after a start, a refusal or a stop. */
inline trim()
{
    d_step {
        if
        :: counts_by[c] == 0 -> holders = holders & ~me
        :: counts_by[c] != 0 && holders == me ->
#ifndef J1
            claimed = counts_by[c];
#endif
            changing = false
        :: else
        fi;
        fresh = false
    };
    d_step {
        if
        :: second == c && !has_second -> second = NONE
        :: else
        fi
    }
}

inline plan()
{
    changed = (shadow != value)
}

inline start()
{
#ifdef I11
    plan();
#endif
    claim_register();
    if
    :: !lost && wants_second -> claim_second()
    :: else
    fi;
    if
    :: !lost ->
#ifndef I11
        plan();
#endif
        counts_by[c] = 0; /* what ran there is closed and goes on elsewhere */
        if
        :: changed ->
            shadow = value;
            atomic {
                assert(counts_by[1 - c] == 0 || counts_by[1 - c] == value);
                shared_register = value
            }
        :: else
        fi;
        has_second = wants_second;
        atomic { assert(shared_register == value); counts_by[c] = value }
    :: else
    fi;
    trim()
}

proctype Cpu(byte c)
{
    byte calls, value, shadow = UNKNOWN;
    bool wants_second, has_second, changed, fresh, lost;

    do
    :: calls < CALLS ->
        atomic {
            calls++;
            if
            :: value = 1
            :: value = 2
            :: counts_by[c] -> value = 0
            fi;
            if
            :: value -> wants_second = true
            :: true
            fi
        };
        if
        :: value -> start()
        :: else ->
            counts_by[c] = 0;
            has_second = false;
            trim()
        fi;
        atomic { value = 0; wants_second = false; changed = false; lost = false }
    :: else -> break
    od;
    counts_by[c] = 0;
    has_second = false;
    trim();
    atomic {
        calls_done++;
        /* Nothing stays claimed. */
        assert(calls_done < 2 || (holders == 0 && second == NONE && !changing))
    }
}

init
{
    atomic { run Cpu(0); run Cpu(1) }
}
