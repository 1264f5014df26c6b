/* SPDX-License-Identifier: MIT */
/*
 * A CPU that enters a guest and leaves it, with an interrupt at every step (README.md, "world.pml").
 *
 * Session G counts the guest alone: it samples on counter 0 and counts on counter 1.  Session H counts on counter
 * 1 the same event in the host alone.  One of them runs at a time.  Counter 2 belongs to a session of both worlds
 * that runs all the time.  Each inline names the function that it is a model of.
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
byte mail_stopped, stopped;
byte gate = C2;             /* shadow of the enable register: what is absent is closed in it */
byte absent;                /* counters whose world is not here */
byte of_world[2];           /* counters of sessions of one world */
byte running = C2, sampling, halted;
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

/* upmu_bank_put_gate(): first the shadow. */
inline put_gate(bits)
{
    word = (bits);
    gate = word;
    enable = word
}

/* upmu_bank_enable_without() */
inline stop_quietly(counters)
{
    word = gate & ~(counters);
    enable = word
}

/* enable_again(): upmu_bank_gate() opens nothing that is absent. */
inline enable_again(counters)
{
    back = (counters);
    lacks = back & running & ~gate;
#ifndef OPENS
    lacks = lacks & ~absent;
#endif
    if
    :: lacks -> put_gate(gate | lacks); lacks = 0
    :: else
    fi;
    word = gate;
    enable = word;
    back = 0
}

/* look_at_counter() */
inline look()
{
    if
    :: (sampling & C0) && value[0] >= 0 ->
        d_step { total0 = total0 + value[0] - base0; count_periods(); load_period() }
    :: else
    fi
}

/* upmu_interrupt_end() */
inline interrupt_end()
{
    if
    :: stopped & running -> enable_again(stopped & running)
    :: else
    fi;
    stopped = 0
}

/* upmu_pmi_handle() */
active proctype Handler()
{
    byte foreign, word, back, lacks;

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
        :: busy -> /* leave_mail() */
            if
            :: (sampling & C0) && value[0] >= 0 ->
                stop_quietly(halted);
                mail_stopped = mail_stopped | halted;
                mail = true
            :: else
            fi
        :: else -> /* handle_overflows() */
            if
            :: halted -> stop_quietly(halted); stopped = halted
            :: else
            fi;
            look();
            interrupt_end()
        fi;
        atomic { in_nmi = false; word = 0 }
    od
}

/* ---- The local side ---- */

/* upmu_reconcile(), upmu_special_prepare(): counter 1 is carried if this world is in both sessions or in neither. */
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
    :: gate & leave & ~carried -> put_gate(gate & ~(leave & ~carried)); stopped = stopped & ~gate
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
    sampling = (in == GUEST -> C0 : 0);
    halted = (in == GUEST -> C0 | C1 : 0);
    d_step {
        running = (running & ~leave) | come;
        runs_now = in
    };
#ifndef ABSENT
    d_step { /* upmu_special_worlds() */
        of_world[HOST] = (in == HOST -> come : 0);
        of_world[GUEST] = (in == GUEST -> come : 0);
        absent = of_world[1 - in_guest]
    };
#endif
    come = come & ~(carried | absent);
    if
    :: come & ~gate -> put_gate(gate | come); stopped = stopped & ~gate
    :: else
    fi
}

/* cross_worlds() of world.c: only enable bits move. */
inline cross()
{
    in_guest = 1 - in_guest;
    absent = of_world[1 - in_guest];
#ifdef STAYS
    put_gate(gate | of_world[in_guest])
#else
    put_gate((gate & ~absent) | of_world[in_guest])
#endif
}

/* upmu_bracket_leave(), upmu_interrupt_read_mail() */
inline leave_bracket()
{
    do
    ::  if
        :: mail ->
            mail = false;
            stopped = stopped | mail_stopped;
            mail_stopped = 0;
            if
            :: halted -> stop_quietly(halted); stopped = stopped | halted
            :: else
            fi;
            look()
        :: else
        fi;
        if
        :: stopped -> interrupt_end()
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
    byte call, word, in, out, leave, come, carried, back, lacks;
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
            assert(running == (C2 | (runs_now == NONE -> 0 : counters_of(runs_now))));
            assert(enable == (C2 | (runs_now == in_guest -> counters_of(runs_now) : 0)) && enable == gate && !stopped);
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
