/* SPDX-License-Identifier: MIT */
/*
 * What the handler answers when the counter's interrupt and those of other sources are NMIs
 * (README.md, "answer.pml").
 *
 * One sampling counter.  An overflow raises its NMI.  An NMI that comes while another one is served
 * waits; two that wait are one.  So an overflow may be taken in another source's NMI, by a stop or by the end of a
 * bracket, or thrown away with the counter, and its own NMI finds nothing: that one must be STALE.
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

/* The context. */
bool live = true, busy, mail, in_nmi;
bool sampling;      /* handlers look at the counter */
byte expected;      /* when an overflow was seen or thrown away, plus 1; 0: never */

/* For the checks alone: when an overflow was there last. */
bool was_any, done;
byte was_at;

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

#define is_expected(at) (expected && (at) + 1 - expected < WINDOW)

/* One word, so that a handler never finds half of it. */
inline expect(at)
{
    expected = at + 1
}

/* An overflow that is there now. */
inline was_seen()
{
    d_step { was_any = true; was_at = now }
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
       found = (live && sampling && overflowed);
       if
       :: found ->
           was_seen();
           if
           :: busy -> runs = false; mail = true /* what takes the overflow sets the time */
           :: else ->
#ifndef H11
               expect(at);
#endif
               overflowed = false
           fi
       :: !found && live && busy -> runs = false; mail = true
       :: else
       fi;
       if
       :: found -> answer = HANDLED
#ifdef BUSY
       :: !found && live && busy -> answer = STALE
       :: !found && !(live && busy) && is_expected(at) -> answer = STALE
#else
#ifdef H16
       :: !found && live && is_expected(at) -> answer = STALE
#else
#ifdef EXPIRY
       :: !found && expected -> answer = STALE
#else
       :: !found && is_expected(at) -> answer = STALE
#endif
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

/* A stopped counter that has passed zero: the time is stored before the overflow is gone. */
inline take()
{
    if
    :: overflowed ->
        at = now;
#ifdef J8
        d_step { overflowed = false; was_any = true; was_at = now };
        expect(at)
#else
        expect(at);
        d_step { overflowed = false; was_any = true; was_at = now }
#endif
    :: else
    fi;
    at = 0
}

inline start()
{
    sampling = true;
    is_on = true;
    runs = true
}

inline stop()
{
    runs = false;
    take();
    sampling = false;
    is_on = false
}

/* A refused register: an overflow that is there is thrown away, unread. */
inline repair()
{
    was_seen();
#ifndef THROWN
    at = now;
    expect(at);
    at = 0;
#endif
    sampling = false;
    is_on = false;
    d_step { runs = false; overflowed = false }
}

inline leave()
{
    do
    ::  if
        :: mail ->
            mail = false;
            if
            :: is_on -> runs = false; take(); runs = true
            :: else
            fi
        :: else
        fi;
        busy = false;
        if
        :: mail -> busy = true
        :: else -> break
        fi
    od
}

active proctype Local() provided (!in_nmi)
{
    byte calls, at;
    bool is_on;

    do
    :: calls < CALLS ->
        atomic { calls++; busy = true };
        if
        :: !is_on -> start()
        :: is_on -> stop()
        :: is_on -> repair()
        :: is_on -> stop(); start() /* another session comes */
        :: true /* a read */
        fi;
        leave()
    :: else -> break
    od;
    /* The CPU is given back: an NMI that is still expected is STALE. */
    busy = true;
    if
    :: is_on -> stop()
    :: else
    fi;
    leave();
    live = false;
    (!own_waits);
    atomic { assert(!mail && !overflowed && !runs); done = true }
}
