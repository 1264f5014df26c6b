/* SPDX-License-Identifier: MIT */
/*
 * What the handler answers when the counter's interrupt and those of other sources are NMIs
 * (README.md, "answer.pml").
 *
 * One sampling counter.  An overflow raises its NMI.  An NMI that comes while another one is served
 * waits; two that wait are one.  So an overflow may be taken in another source's NMI, by a stop or by a
 * poll, or thrown away with the counter, and its own NMI finds nothing: that one must be STALE.
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
bool looks = true;  /* handlers look at the counter */
bool answered;      /* one has been HANDLED */
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
    bool own, found, passed;
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
       d_step {
           if
           :: live && looks && overflowed ->
               passed = true;
               found = !deferred; /* else an earlier one has answered for it, or a poll */
               was_any = true;
               was_at = now;
               if
               :: held -> deferred = true /* what the local side has stopped */
               :: else -> overflowed = false; deferred = false
               fi
           :: else
           fi
       };
       if
       :: found -> answer = HANDLED; answered = true
       :: !found && passed -> answer = STALE
#ifdef H16
       :: !passed && live && stale && at - since < WINDOW -> answer = STALE
#else
#ifdef EXPIRY
       :: !passed && stale -> answer = STALE
#else
       :: !passed && stale && at - since < WINDOW -> answer = STALE
#endif
#endif
       :: else -> answer = NOT_OURS
       fi;
#ifndef H11
       if
       :: passed -> note_overflow(at)
       :: else
       fi;
#endif
       atomic {
           /* An own NMI is answered as such; the host hears of another source's if nothing overflowed lately. */
           assert(!(own && answer == NOT_OURS));
           assert(!(answer == STALE && (!was_any || at - was_at >= WINDOW)));
           in_nmi = false; own = false; found = false; passed = false; at = 0; answer = 0
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
    answered = false;
    if
    :: overflowed ->
        if
        :: !answered -> deferred = true
        :: else
        fi
    :: else
    fi
}

/* What handlers left, at the end of a call. */
inline do_deferred()
{
    if
    :: deferred -> stop(); runs = true
    :: else
    fi
}

/* The registers are not what they should be: what has overflowed is thrown away, unread. */
inline start_over()
{
    d_step { was_any = true; was_at = now };
#ifndef THROWN
    at = now;
    note_overflow(at);
    at = 0;
#endif
    looks = false;
    deferred = false;
    d_step { runs = false; overflowed = false };
    looks = true;
    runs = true
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
        :: runs -> start_over()
        fi;
        do_deferred();
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
