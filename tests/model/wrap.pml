/* SPDX-License-Identifier: MIT */
/*
 * A counter that only counts and wraps (README.md, "wrap.pml").
 *
 * The counter has few bits.  A wrap sets its flag in the status register, which may hide it, and raises an NMI.
 * Ticks look at the counter before half its range can have passed.  A wrap may be taken by a tick, a stop, a
 * handler or the end of a bracket.  It must be added once, and the NMI answered as the counter's.
 */
#ifndef STATUS
#define STATUS 1 /* 0: the status register hides the flag */
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef FOREIGN
#define FOREIGN 2 /* NMIs of other sources */
#endif
#ifndef TIME
#define TIME 8 /* how far the clock runs: one event in each unit at most */
#endif
#define RANGE 8
#define WINDOW 2 /* an NMI of the counter comes within this time: 100 ms */

#define NOT_OURS 0
#define STALE 1
#define HANDLED 2

/* Hardware. */
bool runs, flag, own_waits, foreign_waits, event_came;
byte value = RANGE - 2, now;

/* The context and the event. */
bool live = true, busy, mail, in_nmi, counts;
byte expected;      /* when a wrap was taken, plus 1; 0: never */
byte total, base, seen_at;

/* For the checks alone. */
byte happened, wrapped_at; /* the last wrap, or when it was taken */
bool has_wrapped, done;
bool in_call, slow;         /* a call takes one unit of time at most */

active proctype Hardware()
{
    byte foreign;

end:
    do
    ::  d_step { runs && !event_came ->
            event_came = true;
            happened++;
            value = (value + 1) % RANGE;
            if
            :: value == 0 ->
                if
                :: !STATUS || !flag -> own_waits = true
                :: else
                fi;
                flag = STATUS;
                has_wrapped = true;
                wrapped_at = now
            :: else
            fi
        }
    :: d_step { foreign < FOREIGN && !done -> foreign++; foreign_waits = true }
    :: d_step { now < TIME && !own_waits && !in_nmi && !done && !(in_call && slow) && !(counts && now - seen_at >= RANGE / 2) ->
            now++;
            event_came = false;
            slow = in_call
       }
    od
}

#define is_expected(at) (expected && (at) + 1 - expected < WINDOW)

/* upmu_count_add(), upmu_count_take(): a value below `base` has wrapped.  Its NMI may still come. */
inline add(v, at)
{
    if
#ifdef A3_FOLD
    :: v < base && in_nmi -> expected = at + 1
#else
    :: v < base -> expected = at + 1
#endif
    :: else
    fi;
    d_step {
        if
        :: v < base -> wrapped_at = now
        :: else
        fi;
        total = total + (v + RANGE - base) % RANGE;
        base = v;
        seen_at = at
    }
}

/* handle_overflows(), add_wrapped(), find_hidden(): a set flag, or else a value below `base`, tells of a wrap. */
inline handle(at)
{
    hit = false;
#if STATUS
    if
    :: flag && counts ->
        v = value;
#ifdef TWICE
        if
        :: v >= base -> total = total + RANGE
        :: else
        fi;
#endif
        add(v, at);
        flag = false;
        expected = at + 1;
        hit = true
    :: else
    fi;
#else
    v = value;
    if
#ifndef HIDDEN
    :: counts && v < base -> add(v, at); hit = true
#endif
    :: else
    fi;
#endif
    v = 0
}

active proctype Handler()
{
    bool own, hit, doubt;
    byte at, v, answer;

end:
    do
    ::  d_step { (own_waits || foreign_waits) && !in_nmi ->
            in_nmi = true;
            own = own_waits;
            own_waits = false;
            foreign_waits = false;
            at = now
        };
        if
        :: live && busy ->
            hit = flag; /* leave_mail() */
            doubt = (counts && value < base); /* has_doubt() */
#ifndef A3
            if
            :: hit || doubt -> mail = true
            :: else
            fi
#endif
        :: live && !busy -> handle(at)
        :: else
        fi;
        if
        :: hit -> answer = HANDLED
        :: !hit && (doubt || is_expected(at)) -> answer = STALE
        :: else -> answer = NOT_OURS
        fi;
        atomic {
            assert(!own || answer != NOT_OURS);
            assert(answer == NOT_OURS || doubt || (has_wrapped && at - wrapped_at <= WINDOW));
            in_nmi = false; own = false; hit = false; doubt = false; at = 0; answer = 0
        }
    od
}

inline leave()
{
    do
    ::  if
        :: mail -> mail = false; at = now; handle(at)
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
    byte calls, v, at;
    bool hit;

    do
    :: atomic {
           calls < CALLS || (counts && (now == TIME || now - seen_at >= RANGE / 2));
           busy = true;
           in_call = true;
           slow = false
       };
        at = now;
        if
        :: calls < CALLS && !counts ->
            calls++;
            base = value;
            seen_at = at;
            counts = true;
            runs = true
        :: counts && (calls < CALLS || now == TIME) ->
            calls++;
            runs = false;
            v = value;
            add(v, at);
            counts = false;
            flag = false /* the flag of a counter that left is acknowledged */
        :: counts && calls < CALLS -> calls++ /* a read */
        :: counts && (calls < CALLS || now < TIME) -> /* a tick */
            calls = calls + (calls < CALLS);
            v = value;
            add(v, at)
        fi;
        leave();
        atomic {
            assert(!mail);
            assert(flag == false || own_waits);
            assert(counts || total == happened);
            in_call = false; v = 0; at = 0; hit = false
        }
    :: calls >= CALLS && !counts -> break
    od;
    busy = true;
    leave();
    live = false;
    (!own_waits);
    done = true
}
