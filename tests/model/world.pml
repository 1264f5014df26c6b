/* SPDX-License-Identifier: MIT */
/*
 * A CPU that enters a guest and leaves it, with an interrupt at every step (README.md, "world.pml").
 *
 * Session G counts the guest alone: it samples on counter 0 and counts on counter 1.  Session H counts on counter 1 the same
 * event in the host alone.  One of them runs at a time.  Counter 2 belongs to a session of both worlds that runs all the
 * time.
 */
#ifndef TICKS
#define TICKS 2 /* events */
#endif
#ifndef CALLS
#define CALLS 4 /* local calls; more leave the guest and stop the session that runs */
#endif
#ifndef FOREIGN
#define FOREIGN 1 /* NMIs of other sources */
#endif
#ifndef PERIOD
#define PERIOD 1
#endif

#define HOST 0
#define GUEST 1
#define NONE 2
#define C0 1
#define C1 2
#define C2 4
/* Session H counts HOST, session G counts GUEST. */
#define counters_of(s) ((s) == GUEST -> C0 | C1 : C1)

/* Hardware: the common enable register, values, the request of counter 0. */
byte enable = C2;
short value[2];
bool pending;

/* The context. */
bool busy, mail, in_guest;
byte wanted = C2;           /* counters that are to be enabled, but for `absent` */
byte absent;                /* counters whose world is not here */
byte of_world[2];           /* counters of sessions of one world */
byte sampling;
byte runs_now = NONE;       /* session that runs */

/* Counts: of counter 0, of counter 1 for each session. */
short total0, base0, total1[2], base1[2];
byte due = PERIOD, samples, lost;

/* For the checks alone: events while a session ran in its world, and events that a crossing may add. */
byte happened0, sure[2], slack[2];
bool in_nmi, done;

active proctype Events()
{
    byte ticks;

end:
    do
    ::  d_step { ticks < TICKS && (enable & (C0 | C1)) ->
            ticks++;
            assert(enable & C2);
            if
            :: enable & C0 ->
                value[0]++;
                happened0++;
                if
                :: value[0] == 0 -> pending = true
                :: else
                fi
            :: else
            fi;
            if
            :: enable & C1 ->
                value[1]++;
                if /* outside of calls an event counts for the session of this world alone */
                :: !busy -> assert(runs_now == in_guest); sure[in_guest]++
                :: else -> slack[0]++; slack[1]++
                fi
            :: else
            fi
        }
    od
}

inline count_periods()
{
    if
    :: total0 >= due ->
        due = due + PERIOD;
        samples++;
        do
        :: total0 >= due -> due = due + PERIOD; lost++
        :: else -> break
        od
    :: else
    fi
}

inline load_period()
{
    value[0] = total0 - due;
    base0 = value[0]
}

inline write_enables()
{
    word = wanted & ~absent;
    enable = word
}

inline stop_quietly(counters)
{
    word = wanted & ~(absent | (counters));
    enable = word
}

inline handle()
{
    if
    :: (sampling & C0) && value[0] >= 0 ->
        d_step { total0 = total0 + value[0] - base0; count_periods(); load_period() }
    :: else
    fi
}

active proctype Handler()
{
    byte foreign, word;

end:
    do
    :: d_step { (pending || foreign < FOREIGN) && !in_nmi && !done ->
           in_nmi = true;
           if
           :: pending -> pending = false
           :: else -> foreign++
           fi
       };
        if
        :: sampling -> stop_quietly(sampling)
        :: else
        fi;
        if
        :: busy -> mail = true
        :: else ->
            handle();
            if
#ifdef OPENS
            :: sampling -> word = wanted; enable = word
#else
            :: sampling -> write_enables()
#endif
            :: else
            fi
        fi;
        atomic { in_nmi = false; word = 0 }
    od
}

/* ---- The local side ---- */

inline change_enables(close, open)
{
    differ = ((wanted & ~(close)) | (open)) ^ wanted;
    wanted = wanted ^ differ;
    if
    :: differ -> write_enables()
    :: else
    fi;
    differ = 0
}

/* Counter 1 is carried if this world is in both sessions or in neither. */
inline reconcile()
{
    leave = (out == NONE -> 0 : counters_of(out));
    come = (in == NONE -> 0 : counters_of(in));
#ifdef CARRY
    carried = leave & come;
#else
    carried = leave & come & ~(absent ^ (in == 1 - in_guest -> come : 0));
#endif
    if
    :: leave & ~carried -> change_enables(leave & ~carried, 0)
    :: else
    fi;
    if
    :: out == GUEST ->
        d_step { total0 = total0 + value[0] - base0; base0 = value[0]; count_periods() }
    :: else
    fi;
    if
    :: out != NONE -> d_step { total1[out] = total1[out] + value[1] - base1[out]; base1[out] = value[1] }
    :: else
    fi;
    if
    :: in == GUEST -> d_step { load_period() }
    :: else
    fi;
    if
    :: in != NONE && carried -> base1[in] = base1[1 - in]
    :: in != NONE && !carried -> base1[in] = value[1]
    :: else
    fi;
    d_step {
        sampling = (in == GUEST -> C0 : 0);
        runs_now = in;
#ifndef ABSENT
        of_world[HOST] = (in == HOST -> come : 0);
        of_world[GUEST] = (in == GUEST -> come : 0);
        absent = of_world[1 - in_guest]
#endif
    };
    change_enables(leave & ~come, come)
}

/* Only enable bits move. */
inline cross()
{
    in_guest = 1 - in_guest;
#ifndef STAYS
    absent = of_world[1 - in_guest];
#endif
    write_enables()
}

inline leave_bracket()
{
    do
    ::  if
        :: mail ->
            mail = false;
            if
            :: sampling -> stop_quietly(sampling)
            :: else
            fi;
            handle();
            if
#ifdef MAIL_OPENS
            :: sampling -> word = wanted; enable = word
#else
            :: sampling -> write_enables()
#endif
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
    byte call, word, in, out, leave, come, carried, differ;
    bool crosses;

    do
    :: call <= CALLS || in_guest || runs_now != NONE ->
        busy = true;
        atomic {
            call++;
            in = NONE;
            out = runs_now;
            if
            :: call <= CALLS && runs_now == NONE -> in = HOST
            :: call <= CALLS && runs_now == NONE -> in = GUEST
            :: call <= CALLS && runs_now != NONE -> in = 1 - runs_now
            :: runs_now != NONE
            :: call <= CALLS || in_guest -> crosses = true
            :: call > CALLS && !in_guest && runs_now == NONE
            fi
        };
        if
        :: crosses -> cross()
        :: else -> reconcile()
        fi;
        leave_bracket();
        atomic {
            assert(!mail);
            /* The counters of this world are enabled, and no others. */
            assert(absent == of_world[1 - in_guest]);
            assert(wanted == (C2 | (runs_now == NONE -> 0 : counters_of(runs_now))));
            assert(enable == (C2 | (runs_now == in_guest -> counters_of(runs_now) : 0)));
            crosses = false; in = 0; out = 0; leave = 0; come = 0; carried = 0; word = 0
        }
    :: else -> break
    od;
    (!pending); /* a last interrupt may still be on its way */
    atomic {
        done = true;
        assert(total0 == happened0 && total0 >= 0);
        assert(total1[HOST] >= sure[HOST] && total1[HOST] <= sure[HOST] + slack[HOST]);
        assert(total1[GUEST] >= sure[GUEST] && total1[GUEST] <= sure[GUEST] + slack[GUEST]);
        assert(total1[HOST] + total1[GUEST] == value[1]);
        assert(samples + lost == total0 / PERIOD)
    }
}
