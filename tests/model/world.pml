/* SPDX-License-Identifier: MIT */
/*
 * A CPU that enters a guest and leaves it, with an interrupt at every step (README.md, "world.pml").
 *
 * Session G counts the guest alone and samples on counter 0; it starts and stops on either side.  Session H counts the
 * host alone, on counter 1.  Counter 2 belongs to a session of both that runs all the time.
 */
#ifndef TICKS
#define TICKS 2 /* events of each kind */
#endif
#ifndef CALLS
#define CALLS 4 /* local calls; more leave the guest and stop G */
#endif
#ifndef FOREIGN
#define FOREIGN 1 /* NMIs of other sources */
#endif
#ifndef PERIOD
#define PERIOD 1
#endif

#define HOST 0
#define GUEST 1
#define C0 1
#define C1 2
#define C2 4

/* Hardware: the common enable register, values, the interrupt of counter 0. */
byte enable = C2;
short value[2];
bool pending, interrupts;   /* counter 0 has G's event */

/* The CPU structure. */
byte shadow = C2;           /* of the enable register */
byte held, deferred, sampling, stop_bits;
byte of_world[2];           /* counters of sessions of one world: HOST's is C1 */
byte absent;                /* those whose world is not here */
bool in_guest;
bool owned;                 /* G's event is on counter 0 */
bool known;                 /* counter 0 holds G's value */
bool in_nmi;

/* G. */
short total, base;
byte due = PERIOD, samples, lost;

/* What only the checks know. */
byte sure[2], slack[2];     /* by world: events that its session must have counted, and may have */
bool must[2], may[2];
bool done;

active proctype Events()
{
    byte ticks;

end:
    do
    ::  d_step { ticks < TICKS && ((enable & (C0 | C1)) || must[HOST] || must[GUEST]) ->
            ticks++;
            assert(enable & C2);
            if
            :: enable & C0 ->
                value[0]++;
                if
                :: value[0] == 0 && interrupts -> pending = true
                :: else
                fi
            :: else
            fi;
            if
            :: enable & C1 -> value[1]++
            :: else
            fi;
            if
            :: must[GUEST] && !in_nmi -> sure[GUEST]++
            :: (must[GUEST] && in_nmi) || may[GUEST] -> slack[GUEST]++
            :: else
            fi;
            if
            :: must[HOST] -> sure[HOST]++
            :: !must[HOST] && may[HOST] -> slack[HOST]++
            :: else
            fi
        }
    od
}

inline count_periods()
{
    if
    :: total >= due ->
        due = due + PERIOD;
        samples++;
        do
        :: total >= due -> due = due + PERIOD; lost++
        :: else -> break
        od
    :: else
    fi
}

inline load_period()
{
    value[0] = total - due;
    base = value[0]
}

/* ---- The interrupt: it knows nothing of worlds, and opens what the shadow says ---- */

active proctype Handler()
{
    byte foreign, stops, closed;

end:
    do
    :: d_step { (pending || foreign < FOREIGN) && !in_nmi && !done ->
           if
           :: pending -> pending = false
           :: else -> foreign++
           fi;
           in_nmi = true;
           stops = stop_bits
       };
        if
        :: stops -> enable = shadow & ~stops
        :: else
        fi;
        if
        :: (sampling & C0) && owned && value[0] >= 0 ->
            if
            :: held & C0 ->
                d_step {
                    if
                    :: known -> deferred = C0; closed = C0
                    :: else
                    fi
                }
            :: else ->
                d_step {
                    total = total + value[0] - base;
                    count_periods();
                    deferred = 0;
                    load_period()
                }
            fi
        :: else
        fi;
        if
#ifdef OPENS
        :: stops | closed -> enable = (shadow | stops) & ~closed
#else
        :: stops | closed -> enable = shadow & ~closed
#endif
        :: else
        fi;
        atomic { in_nmi = false; stops = 0; closed = 0 }
    od
}

/* ---- The local side ---- */

inline store_enable(word)
{
#ifdef I1
    enable = word;
    shadow = word
#else
    shadow = word;
    enable = shadow
#endif
}

inline take()
{
    d_step {
        total = total + value[0] - base;
        base = value[0]
    }
}

inline settle()
{
    known = false;
    d_step { count_periods() };
    d_step { deferred = 0 }
}

inline find_absent()
{
    absent = of_world[1 - in_guest]
}

inline start()
{
    held = C0;
    of_world[GUEST] = C0;
    find_absent();
    interrupts = true;
    load_period();
    known = true;
    owned = true;
    sampling = C0;
    stop_bits = C0;
    held = 0;
#ifdef COMES
    store_enable(shadow | C0)
#else
    store_enable(shadow | (C0 & ~absent))
#endif
}

inline stop()
{
    held = C0;
    of_world[GUEST] = 0;
    find_absent();
    store_enable(shadow & ~C0);
    take();
    if
    :: value[0] >= 0 -> settle()
    :: else
    fi;
    sampling = 0;
    stop_bits = 0;
    owned = false;
    held = 0
}

/* Counters are not held: they are closed and opened where they are. */
inline cross()
{
    in_guest = 1 - in_guest;
    find_absent();
#ifdef STAYS
    store_enable(shadow | of_world[in_guest])
#else
    store_enable((shadow & ~absent) | of_world[in_guest])
#endif
}

inline poll()
{
    held = C0;
    if
    :: value[0] < 0 -> take()
    :: else
    fi;
    held = 0
}

/* An overflow that a handler found while its counter was held: on whatever side that is noticed. */
inline do_deferred()
{
    if
    :: deferred ->
        assert(owned);
        held = C0;
        store_enable(shadow & ~C0);
        take();
        settle();
        load_period();
        known = true;
        held = 0;
#ifdef REPLAY
        store_enable(shadow | C0)
#else
        store_enable(shadow | (C0 & ~absent))
#endif
    :: else
    fi
}

#define START 1
#define STOP 2
#define CROSS 3
#define POLL 4

active proctype Local() provided (!in_nmi)
{
    byte call, what;
    bool runs;

    /* It begins in the host, and H runs. */
    atomic {
        of_world[HOST] = C1;
        shadow = C1 | C2;
        enable = shadow;
        must[HOST] = true
    };
    do
    :: call <= CALLS || in_guest || runs ->
        atomic {
            if
            :: call <= CALLS -> call++
            :: else
            fi;
            if
            :: call <= CALLS && !runs -> what = START
            :: call <= CALLS && runs -> what = POLL
            :: runs && (call <= CALLS || !in_guest) -> what = STOP
            :: call <= CALLS || in_guest -> what = CROSS
            :: call > CALLS && !runs && !in_guest -> what = 0
            fi;
            must[GUEST] = false;
            may[GUEST] = runs || what == START;
            if
            :: what == CROSS -> must[HOST] = false; may[HOST] = true
            :: else
            fi
        };
        if
        :: what == START -> start(); runs = true
        :: what == STOP -> stop(); runs = false
        :: what == CROSS -> cross()
        :: what == POLL -> poll()
        :: what == 0
        fi;
        do_deferred();
        atomic {
            may[GUEST] = false;
            may[HOST] = false;
            must[GUEST] = runs && in_guest;
            must[HOST] = !in_guest;
            /* What counts is what is to count here. */
            assert(shadow == (C2 | (in_guest -> (runs -> C0 : 0) : C1)))
        }
    :: else -> break
    od;
    (!pending); /* a last interrupt may still be on its way */
    atomic {
        done = true;
        assert(deferred == 0 && held == 0 && enable == (C1 | C2));
        assert(total >= sure[GUEST] && total <= sure[GUEST] + slack[GUEST]);
        assert(value[1] >= sure[HOST] && value[1] <= sure[HOST] + slack[HOST]);
        assert(samples + lost == total / PERIOD)
    }
}
