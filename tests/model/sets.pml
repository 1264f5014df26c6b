/* SPDX-License-Identifier: MIT */
/*
 * A set switch by overflow, and readers on both CPUs (README.md, "sets.pml").
 *
 * Session A has two sets, each with one sampling event on counter 0.  Each overflow switches to the
 * other set: in the handler, or in the bracket of the local call that the handler interrupted.
 * Session B counts on the same counter.  The other CPU reads the count of A's first set, and its time.
 */
#ifndef TICKS
#define TICKS 2 /* events; they are the clock, too */
#endif
#ifndef CALLS
#define CALLS 2 /* local calls; one more stops what runs */
#endif
#ifndef FOREIGN
#define FOREIGN 1 /* NMIs of other sources */
#endif
#ifndef READS
#define READS 0 /* reads by the other CPU */
#endif

#define A 0
#define B 2     /* what counts: A's sets are 0 and 1 */
#define NONE 3
#define is_a(x) ((x) < B)

/* Hardware of CPU 0. */
bool enable;
byte program = NONE;
short value;
bool pending;
byte clock;

/* The CPU structure. */
bool shadow, held, deferred, attention, sampling, busy, in_nmi;
byte last = NONE;
bool tick_asked;            /* a handler wants a local call */

/* Session A; the counts of its sets and of B. */
bool runs, b_runs, switch_due;
byte set;                   /* the active one */
byte sequence, event_sequence[2];
short total[3], base[3];
byte due[2] = 1, samples, lost;
byte time_on, started;      /* time of A */

/* What only the checks know. */
byte sure[3], slack[3];
byte sure_time, slack_time;
bool must_a, may_a, must_b, may_b;
bool done;

/* The other CPU asks for a read here. */
bool asked, answered;
byte reads;
byte least_count, least_time;   /* what had happened when the read began */

active proctype Events()
{
end:
    do
    ::  d_step { clock < TICKS && (enable || must_a || must_b) ->
            clock++;
            if
            :: enable ->
                value++;
                if
                :: value == 0 && is_a(program) -> pending = true
                :: else
                fi
            :: else
            fi;
            if
            :: must_a && !in_nmi && !attention -> sure[set]++
            :: (must_a && (in_nmi || attention)) || may_a -> slack[0]++; slack[1]++
            :: else
            fi;
            if
            :: must_a -> sure_time++
            :: !must_a && may_a -> slack_time++
            :: else
            fi;
            if
            :: must_b -> sure[B]++
            :: !must_b && may_b -> slack[B]++
            :: else
            fi
        }
    od
}

inline load_period()
{
    value = total[set] - due[set];
    base[set] = value
}

/* The count up to now; if it has passed a period: a sample, and the other set is due. */
inline account()
{
    total[set] = total[set] + value - base[set];
    base[set] = value;
    if
    :: total[set] >= due[set] ->
        samples++;
        due[set]++;
        do
        :: total[set] >= due[set] -> due[set]++; lost++
        :: else -> break
        od;
        switch_due = true;
        attention = true
    :: else
    fi
}

/* A set that is due is changed by the bracket that is open, or a call was asked for. */
#define attention_is_seen (!(attention && switch_due && runs) || busy || tick_asked)

/* ---- The interrupt ---- */

active proctype Handler()
{
    byte foreign;
    bool stops, closed;

end:
    do
    :: d_step { (pending || foreign < FOREIGN) && !in_nmi && !done ->
           if
           :: pending -> pending = false
           :: else -> foreign++
           fi;
           in_nmi = true;
           stops = sampling
       };
        if
        :: stops -> enable = false
        :: else
        fi;
        if
        :: sampling && runs && value >= 0 ->
            if
            :: held ->
                if
                :: last == set -> deferred = true; closed = true
                :: else
                fi
            :: else ->
                event_sequence[set]++;
                d_step { account() };
                d_step { load_period(); deferred = false };
                event_sequence[set]++
            fi
        :: else
        fi;
        /* Sessions that attention names stay closed, or the next set is put on now. */
        if
#ifdef H1
        :: attention && switch_due ->
#else
        :: attention && switch_due && runs ->
#endif
            if
            :: !busy && runs ->
                sequence++;
                atomic { set = 1 - set; program = set };
                d_step { load_period(); last = set; switch_due = false; attention = false };
                sequence++
            :: !busy && runs -> /* what a handler cannot do */
                closed = true;
#ifndef TICK
                tick_asked = true
#endif
            :: else -> closed = true
            fi
        :: else
        fi;
        if
        :: stops || closed -> enable = shadow && !closed
        :: else
        fi;
        atomic {
            assert(attention_is_seen);
            in_nmi = false; stops = false; closed = false
        }
    od
}

/* ---- The local side ---- */

inline store_enable(word)
{
    shadow = word;
    enable = word
}

inline take_a()
{
    d_step {
        if
        :: value >= 0 -> last = NONE
        :: else
        fi;
        account();
        deferred = false
    };
    time_on = time_on + clock - started;
    started = clock
}

/* A deferred overflow: the counter is stopped, settled and loaded. */
inline do_deferred()
{
    if
    :: deferred ->
        assert(runs);
        held = true;
        store_enable(false);
        d_step { account(); deferred = false; last = NONE };
        d_step { load_period(); last = set };
        store_enable(true);
        held = false
    :: else
    fi
}

inline change_sequence()
{
#ifndef I5
    sequence++
#else
    skip
#endif
}

/*
 * What handlers have left to do does not come first: an overflow that was deferred is settled as its set leaves.  A set
 * that is found due by a stop runs once more, closed for handlers, until the end of the call that starts it.
 */
inline transition(out_a, out_b, in_a, in_b)
{
    held = true;
    store_enable(false);
    if
    :: out_a ->
        change_sequence();
        take_a();
        runs = false;
        switches = (switch_due && in_a);
        switch_due = switch_due && !in_a;
        change_sequence()
    :: else
    fi;
    if
    :: out_b -> d_step { total[B] = total[B] + value - base[B]; base[B] = value; b_runs = false }
    :: else
    fi;
    if
    :: in_a ->
        if
        :: switches -> atomic { set = 1 - set; switches = false }
        :: else
        fi;
        change_sequence();
        d_step {
            program = set;
            if
            :: last != set -> load_period(); last = set
            :: else
            fi
        };
        started = clock;
        runs = true;
        attention = attention || switch_due;
        change_sequence()
    :: else
    fi;
    if
    :: in_b -> d_step { program = B; last = B; base[B] = value; b_runs = true }
    :: else
    fi;
    sampling = runs;
    held = false;
    if
    :: runs || b_runs -> store_enable(true)
    :: else
    fi
}

/* What handlers left: a deferred overflow, then the set that is due, if its session still runs. */
inline do_attention()
{
    do_deferred();
    if
    :: attention ->
        attention = false;
        if
        :: switch_due && runs -> transition(true, false, true, false)
        :: else
        fi
    :: else
    fi
}

inline leave()
{
    do
    ::  do_attention();
        busy = false;
        if
#ifdef I9
        :: true -> break
#else
        :: deferred || attention -> busy = true
        :: else -> break
#endif
        fi
    od
}

/* A read on the CPU where the session runs: interrupts are off, but no bracket is open.  NMIs come. */
inline read_here()
{
    do
    ::
#ifdef I7_LATE
        is_active = (runs && set == 0);
        before = sequence;
#else
        before = sequence;
        is_active = (runs && set == 0);
#endif
        again = false;
        if
        :: is_active ->
            old = event_sequence[0];
            result = value;
            atomic {
                result = result + total[0] - base[0];
#ifndef I4
                again = (old != event_sequence[0])
#endif
            }
        :: else -> result = total[0]
        fi;
        if
        :: again -> skip
#ifndef I7_END
        :: !again && before != sequence -> skip
        :: !again && before == sequence -> break
#else
        :: !again -> break
#endif
        fi
    od;
    atomic {
        assert(result >= least_count && result <= sure[0] + slack[0]);
        result = 0; before = 0; old = 0; again = false; is_active = false;
        asked = false;
        answered = true
    }
}

inline begin_call()
{
    atomic {
        if
        :: tick_asked -> tick_asked = false
        :: call <= CALLS -> /* (one may come before the tick) */
            call++;
            if
            :: call > CALLS -> out_a = runs; out_b = b_runs
            :: call <= CALLS && !runs && !b_runs -> in_a = true
            :: call <= CALLS && !runs && !b_runs -> in_b = true
            :: call <= CALLS && runs -> out_a = true
            :: call <= CALLS && runs -> out_a = true; in_b = true
            :: call <= CALLS && b_runs -> out_b = true
            :: call <= CALLS && b_runs -> out_b = true; in_a = true
            :: call <= CALLS && runs -> polls = true
            fi
        fi;
        busy = true;
        /* (The bracket may switch sets.) */
        may_a = runs || in_a;
        must_a = false;
        may_b = out_b || in_b;
        must_b = must_b && !out_b
    }
}

inline end_call()
{
    atomic {
        assert(attention_is_seen);
        must_a = runs; must_b = b_runs; may_a = false; may_b = false;
        out_a = false; out_b = false; in_a = false; in_b = false; polls = false
    }
}

active proctype Local() provided (!in_nmi)
{
    byte call, before, old;
    bool out_a, out_b, in_a, in_b, polls, again, is_active, switches;
    short result;

    do
    :: asked -> read_here()
    :: !asked && (call <= CALLS || tick_asked) ->
        begin_call();
        if /* what is closed for a switch that is due comes first */
        :: attention -> do_attention()
        :: else
        fi;
        if
        :: out_a || out_b || in_a || in_b -> transition(out_a, out_b, in_a, in_b)
        :: polls && value >= 0 -> deferred = true /* no interrupt came: a poll leaves it to the end of its call */
        :: else
        fi;
        leave();
        end_call()
    :: !asked && call > CALLS && !tick_asked && !pending && reads == READS -> break
    od;
    atomic {
        done = true;
        /* Nothing is left to do, and nothing runs. */
        assert(!attention && !deferred && !held && !enable && !shadow);
        /* Counts and times are conserved. */
        assert(total[0] >= sure[0] && total[0] <= sure[0] + slack[0]);
        assert(total[1] >= sure[1] && total[1] <= sure[1] + slack[1]);
        assert(total[B] >= sure[B] && total[B] <= sure[B] + slack[B]);
        assert(samples + lost == total[0] + total[1]);
        assert(time_on >= sure_time && time_on <= sure_time + slack_time)
    }
}

/* The other CPU: of a session that runs it asks that CPU; else it reads what lies there. */
active proctype Remote()
{
    byte before;
    short count, time;

    do
    :: reads < READS ->
        atomic { least_count = sure[0]; least_time = sure_time };
        do
        ::  atomic { sequence % 2 == 0 -> before = sequence };
            if
            :: runs -> asked = true; (answered); answered = false; break
            :: else ->
                time = time_on;
                count = total[0];
                if
                :: before == sequence ->
                    assert(count >= least_count && count <= sure[0] + slack[0]);
                    assert(time >= least_time && time <= sure_time + slack_time);
                    /* Both are of one moment. */
                    assert(count <= time + slack[0] && time <= count + total[1] + slack_time + slack[0]);
                    break
                :: else
                fi
            fi
        od;
        atomic { reads++; before = 0; count = 0; time = 0 }
    :: else -> break
    od
}
