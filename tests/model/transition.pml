/* SPDX-License-Identifier: MIT */
/*
 * A transition with an interrupt at every step (README.md, "transition.pml").  The numbers are the
 * steps of the protocol there.
 *
 * Session A samples on counter 0 and counts on counter 1.  Session B counts on both, on counter 1
 * the event that A counts: a switch between them carries counter 1.  Counter 2 belongs to a
 * session that runs all the time.  A sample may fill A's ring: then A is masked.
 */
#ifndef TICKS
#define TICKS 2 /* events of each kind */
#endif
#ifndef CALLS
#define CALLS 2 /* local calls; one more stops what runs */
#endif
#ifndef FOREIGN
#define FOREIGN 1 /* NMIs of other sources */
#endif
#ifndef PERIOD
#define PERIOD 1
#endif
#ifndef FILLS
#define FILLS 1 /* samples that fill A's ring, which masks it */
#endif

#define A 0
#define B 1
#define NONE 2
#define C0 1
#define C1 2
#define C2 4
#define BOTH 3
#define event(s, c) (2 * (s) + (c))

/* Hardware: the common enable register, what a select holds, values, the interrupt of counter 0. */
byte enable = C2, program[2];
short value[2];
bool pending;

/* The CPU structure. */
byte shadow = C2;           /* of the enable register */
byte held, deferred;
byte staying;               /* counters that are carried: what masks their session does not close them */
byte sampling, stop_bits, running;
byte owner[2] = NONE;       /* whose event is on a counter */
byte last[2] = NONE;        /* whose value a counter holds */
bool in_nmi;

/* Sessions.  An event is one counter of one session. */
bool linked[2];
short total[4], base[4];
byte due = PERIOD;          /* A's next sample */
byte samples, lost;
bool masked;                /* A: handlers keep it closed until the local side takes it off */
byte fills;
bool news;                  /* a sample was written just now */

/* What only the checks know: events that a session must have counted, and that it may have counted. */
byte sure[2], slack[2];
byte through;               /* events during a switch that carries counter 1 */
bool must[2], may[2], carries;
bool done;

/* A counter runs while it is enabled, whatever the CPU executes.  (An event that nothing could count changes nothing.) */
active proctype Events()
{
    byte ticks;

end:
    do
    ::  d_step { ticks < TICKS && ((enable & BOTH) || must[A] || must[B] || carries) ->
            ticks++;
            assert(enable & C2);
            if
            :: enable & C0 ->
                value[0]++;
                if
                :: value[0] == 0 && program[0] == A + 1 -> pending = true
                :: else
                fi
            :: else
            fi;
            if
            :: enable & C1 -> value[1]++
            :: else
            fi;
            if
            :: must[A] && !in_nmi -> sure[A]++
            :: (must[A] && in_nmi) || may[A] -> slack[A]++
            :: else
            fi;
            if
            :: must[B] -> sure[B]++
            :: !must[B] && may[B] -> slack[B]++
            :: else
            fi;
            if
            :: carries && !in_nmi -> through++
            :: else
            fi
        }
    od
}

/* Periods of A that are over: one sample, the others are lost.  A handler finds the session by the CPU's list. */
inline count_periods(found)
{
    if
    :: total[event(A, 0)] >= due ->
        due = due + PERIOD;
        if
        :: found -> samples++; news = true
        :: else
        fi;
        do
        :: total[event(A, 0)] >= due -> due = due + PERIOD; lost++
        :: else -> break
        od
    :: else
    fi
}

/* It may have filled the ring.  What is closed for that need not count; what is carried past it must. */
inline fill(closing)
{
    if
    :: news && fills < FILLS ->
        atomic {
            masked = true;
            fills++;
            news = false;
            if
            :: closing -> carries = false; may[A] = may[A] || must[A]; must[A] = false
            :: else
            fi
        }
    :: news = false
    fi
}

inline load_period()
{
    value[0] = total[event(A, 0)] - due;
    base[event(A, 0)] = value[0]
}

/* ---- The interrupt: the local side stands still until it returns ---- */

active proctype Handler()
{
    byte foreign, stops, closed, s;
    short v;

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
        :: sampling & C0 ->
            d_step { v = value[0]; s = owner[0] };
            if
            :: v >= 0 && s != NONE ->
                if
#ifndef I2
                :: held & C0 ->
                    /* What the local side has settled, and loads next, is no news. */
                    d_step {
                        if
                        :: last[0] == s -> deferred = deferred | C0; closed = C0
                        :: else
                        fi
                    }
#endif
                :: else ->
                    d_step {
                        total[event(s, 0)] = total[event(s, 0)] + v - base[event(s, 0)];
                        if
                        :: s == A -> count_periods(linked[A])
                        :: else
                        fi
                    };
                    fill(true);
                    d_step { deferred = deferred & ~C0; load_period() }
                fi
            :: else
            fi
        :: else
        fi;
        if
#ifdef STAYING
        :: masked -> closed = BOTH
#else
        :: masked -> closed = closed | (BOTH & ~staying)
#endif
        :: else
        fi;
        if
        :: stops | closed -> enable = shadow & ~closed
        :: else
        fi;
        atomic { in_nmi = false; v = 0; s = 0; stops = 0; closed = 0 }
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

/* A stopped counter gives its count. */
inline take(s, c)
{
    d_step {
        total[event(s, c)] = total[event(s, c)] + value[c] - base[event(s, c)];
        base[event(s, c)] = value[c]
    }
}

/* A's counter 0 has passed zero: from here on a handler has no news of it. */
inline settle(closing)
{
    last[0] = NONE;
    d_step { count_periods(true) };
    fill(closing);
    d_step { deferred = deferred & ~C0 }
}

/* A stopped counter gets its begin, unless it still has it. */
inline prime_counter_0()
{
    if
    :: last[0] != in || (changed & C0) ->
        d_step {
            if
            :: in == A -> load_period()
            :: else -> base[event(B, 0)] = value[0]
            fi
        }
    :: else
    fi;
    last[0] = in;
#ifndef I6_OWNER
    owner[0] = in
#endif
}

inline prime_counter_1()
{
    d_step {
        if
#ifdef CARRY
        :: carried -> base[event(in, 1)] = value[1]
#else
        :: carried -> base[event(in, 1)] = base[event(1 - in, 1)]
#endif
        :: !carried && (last[1] != in || (changed & C1)) -> base[event(in, 1)] = value[1]
        :: else
        fi
    };
    last[1] = in;
#ifndef I6_OWNER
    owner[1] = in
#endif
}

/*
 * Overflows that a handler found while their counter was held.  Before step 7 the handler may find the event that comes
 * on a counter that is still listed as sampling: there is nothing to do for an event that only counts.
 */
inline do_deferred()
{
    do
    :: deferred && owner[0] != A -> d_step { deferred = deferred & ~C0 }
    :: deferred && owner[0] == A ->
        held = C0;
        store_enable(shadow & ~C0);
        take(A, 0);
        settle(true);
        load_period();
        last[0] = A;
        store_enable(shadow | C0);
        held = 0
    :: else -> break
    od
}

inline put_in_list()
{
    if
    :: in != NONE -> linked[in] = true
    :: else
    fi
}

inline publish()
{
    if
    :: in == A -> sampling = C0
    :: else -> sampling = 0
    fi;
#ifndef I8
    if
    :: in == A -> stop_bits = BOTH
    :: else -> stop_bits = 0
    fi;
#endif
    if
    :: in != NONE -> running = BOTH
    :: else -> d_step { running = 0; owner[0] = NONE; owner[1] = NONE }
    fi
}

inline transition()
{
#ifndef I6
    put_in_list();
#endif
    do
    ::  /* 1: plan */
        d_step {
            if
            :: in != NONE && program[0] != in + 1 -> changed = C0
            :: else
            fi;
            if
            :: in != NONE && program[1] == 0 -> changed = changed | C1
            :: else
            fi;
            if
            :: in != NONE && out != NONE -> carried = C1
            :: else
            fi
        };
        held = BOTH; /* 2: hold */
        if
        :: (deferred || masked) && !again -> held = 0; again = true
        :: else -> break
        fi
    od;
    if /* (a handler has closed it) */
    :: masked -> carried = 0
    :: else
    fi;
    staying = carried;
    if /* 3: close */
    :: out != NONE -> store_enable(shadow & (carried | C2))
    :: else
    fi;
    if /* 4: read */
    :: out != NONE ->
        take(out, 0);
        if
        :: out == A && value[0] >= 0 -> settle(false)
        :: else
        fi;
        take(out, 1);
        masked = false
    :: else
    fi;
    staying = 0;
    if /* 5: write.  A select changes only while its counters are closed. */
    :: changed & C0 -> assert(!(enable & C0)); program[0] = in + 1
    :: else
    fi;
    if
    :: changed & C1 -> assert(!(enable & C1)); program[1] = 1
    :: else
    fi;
    if /* 6: prime */
    :: in != NONE -> prime_counter_0(); prime_counter_1()
    :: else
    fi;
    publish(); /* 7 */
    held = 0;
    if /* 8: open */
    :: in != NONE -> store_enable(shadow | BOTH)
    :: else
    fi;
#ifdef I6_OWNER
    if
    :: in != NONE -> d_step { owner[0] = in; owner[1] = in }
    :: else
    fi;
#endif
#ifdef I6
    put_in_list();
#endif
    if
    :: out != NONE -> linked[out] = false
    :: else
    fi
}

/* A poll folds a counter that runs on, and holds it meanwhile. */
inline poll()
{
    held = C0;
    d_step {
        if
        :: value[0] < 0 ->
            total[event(A, 0)] = total[event(A, 0)] + value[0] - base[event(A, 0)];
            base[event(A, 0)] = value[0]
        :: else
        fi
    };
    held = 0
}

inline begin_call()
{
    atomic {
        if /* (what is masked leaves before anything else, in a call of its own) */
        :: masked
        :: else -> call++
        fi;
        if
        :: masked -> out = now
        :: !masked && call > CALLS -> out = now
        :: !masked && call <= CALLS && now == NONE -> in = A
        :: !masked && call <= CALLS && now == NONE -> in = B
        :: !masked && call <= CALLS && now != NONE -> out = now
        :: !masked && call <= CALLS && now != NONE -> out = now; in = 1 - now
        :: !masked && call <= CALLS && now == A -> polls = true
        fi;
        must[A] = false;
        must[B] = false;
        may[A] = (in == A || out == A || polls);
        may[B] = (in == B || out == B);
        carries = (in != NONE && out != NONE)
    }
}

inline end_call()
{
    atomic {
        if
        :: !polls -> now = in
        :: else
        fi;
        may[A] = false;
        may[B] = false;
        carries = false;
        if
        :: masked -> may[A] = true
        :: !masked && now != NONE -> must[now] = true
        :: else
        fi;
        in = NONE; out = NONE; changed = 0; carried = 0; again = false; polls = false
    }
}

active proctype Local() provided (!in_nmi)
{
    byte call, in = NONE, out = NONE, now = NONE, changed, carried;
    bool again, polls;

    do
    :: call <= CALLS ->
        begin_call();
        if
        :: polls -> poll()
        :: else -> transition()
        fi;
        do_deferred();
        end_call()
    :: else -> break
    od;
    (!pending); /* a last interrupt may still be on its way */
    atomic {
        done = true;
        /* Nothing is left to do, and nothing runs. */
        assert(deferred == 0 && held == 0 && !masked && staying == 0 && enable == C2 && shadow == C2);
        /* Counts are conserved. */
        assert(total[event(A, 0)] >= sure[A] && total[event(A, 0)] <= sure[A] + slack[A]);
        assert(total[event(A, 1)] >= sure[A] && total[event(A, 1)] <= sure[A] + slack[A]);
        assert(total[event(B, 0)] >= sure[B] && total[event(B, 0)] <= sure[B] + slack[B]);
        assert(total[event(B, 1)] >= sure[B] && total[event(B, 1)] <= sure[B] + slack[B]);
        assert(total[event(A, 1)] + total[event(B, 1)] >= sure[A] + sure[B] + through);
        assert(samples + lost == total[event(A, 0)] / PERIOD)
    }
}
