/* SPDX-License-Identifier: MIT */
/*
 * What the handler answers when the counter's interrupt and those of other sources are NMIs
 * (README.md, "answer.pml").
 *
 * One sampling counter.  An overflow raises its NMI.  An NMI that comes while another one is served
 * waits; two that wait are one.  So an overflow may be taken in another source's NMI, by a stop or by a
 * poll, and its own NMI finds nothing: that one must be STALE.
 */
#ifndef OVERFLOWS
#define OVERFLOWS 3
#endif
#ifndef FOREIGN
#define FOREIGN 2
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef TIME
#define TIME 5 /* how far the clock runs */
#endif
#define WINDOW 2 /* an NMI of the counter comes within this time: 100 ms */

#define NOT_OURS 0
#define STALE 1
#define HANDLED 2

/* Hardware: the counter, and the NMI that waits, by what raised it. */
bool runs, overflowed;
bool own_waits, foreign_waits;
byte now;

/* The CPU structure. */
bool live = true, busy, held, deferred, in_nmi;
bool stale;         /* an overflow was seen or thrown away at `since` */
byte since;

/* What only the checks know: when an overflow was there last. */
bool was_any;
byte was_at;

bool done;

active proctype Hardware()
{
    byte overflows, foreign;

end:
    do
    :: d_step { runs && !overflowed && overflows < OVERFLOWS ->
           overflows++;
           overflowed = true;
           own_waits = true
       }
    :: d_step { foreign < FOREIGN && !done -> foreign++; foreign_waits = true }
    :: d_step { now < TIME && !own_waits && !in_nmi && !busy && !done -> now++ }
    od
}

/* The clock, then what it is good for: a handler may come between any two steps. */
inline note_overflow(at)
{
    since = at;
    stale = true
}

active proctype Handler()
{
    bool own, found;
    byte at, answer;

end:
    do
    :: d_step { (own_waits || foreign_waits) && !in_nmi ->
           in_nmi = true;
           own = own_waits;
           own_waits = false;
           foreign_waits = false;
           at = now
       };
       if
       :: live ->
           if
           :: held -> /* what the local side has stopped is deferred */
               d_step {
                   if
                   :: overflowed -> found = !deferred; deferred = true; was_any = true; was_at = now
                   :: else
                   fi
               }
           :: else ->
               d_step {
                   if
                   :: overflowed ->
                       found = !deferred;
                       overflowed = false;
                       deferred = false;
                       was_any = true;
                       was_at = now
                   :: else
                   fi
               }
           fi
       :: else
       fi;
       if
       :: found ->
           answer = HANDLED;
#ifndef H11
           note_overflow(at)
#endif
#ifdef H16
       :: !found && live && stale && at - since < WINDOW -> answer = STALE
#else
#ifdef EXPIRY
       :: !found && stale -> answer = STALE
#else
       :: !found && stale && at - since < WINDOW -> answer = STALE
#endif
#endif
       :: else -> answer = NOT_OURS
       fi;
       atomic {
           /* An own NMI is answered as such; the host hears of another source's if nothing overflowed lately. */
           assert(!(own && answer == NOT_OURS));
           assert(!(answer == STALE && (!was_any || at - was_at >= WINDOW)));
           in_nmi = false; own = false; found = false; at = 0; answer = 0
       }
    od
}

/* A stopped counter that has passed zero: the time is known before the overflow is gone. */
inline settle()
{
    if
    :: overflowed ->
#ifdef J8
        d_step { overflowed = false; deferred = false; was_any = true; was_at = now };
        at = now;
        note_overflow(at)
#else
        at = now;
        note_overflow(at);
        d_step { overflowed = false; deferred = false; was_any = true; was_at = now }
#endif
    :: else -> deferred = false
    fi;
    at = 0
}

inline stop()
{
    held = true;
    runs = false;
    settle();
    held = false
}

/* A poll takes an interrupt that did not come for lost. */
inline poll()
{
    if
    :: overflowed ->
        at = now;
        note_overflow(at);
        at = 0;
        d_step {
            if
            :: overflowed -> deferred = true
            :: else
            fi
        };
        if
        :: deferred -> stop(); runs = true
        :: else
        fi
    :: else
    fi
}

active proctype Local() provided (!in_nmi)
{
    byte calls, at;

    do
    :: calls < CALLS ->
        atomic { calls++; busy = true };
        if
        :: !runs -> runs = true
        :: runs -> stop()
        :: runs -> poll()
        fi;
        busy = false
    :: else -> break
    od;
    /* The CPU is given back: what is still expected is STALE. */
    busy = true;
    stop();
    live = false;
    busy = false;
    (!own_waits);
    done = true
}
