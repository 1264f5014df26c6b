/* SPDX-License-Identifier: MIT */
/*
 * Plans, brackets, mail and faults on one CPU (README.md, "bracket.pml").  The numbers are the steps of reconcile() there.
 *
 * Session A has two sets.  Each samples on counter 0 and counts on counter 1.  An overflow makes the other set due.  A
 * sample may fill A's ring, which masks A.  Session B counts on both counters.  Counter 1 has one event in all sets, so a
 * switch carries it.  Counter 2 belongs to session C, which runs all the time.
 */
#ifndef TICKS
#define TICKS 2 /* events */
#endif
#ifndef CALLS
#define CALLS 2 /* local calls; one more stops the session that runs */
#endif
#ifndef FOREIGN
#define FOREIGN 1 /* NMIs of other sources */
#endif
#ifndef PERIOD
#define PERIOD 1
#endif
#ifndef FILLS
#define FILLS 0 /* samples that fill A's ring */
#endif
#ifndef SETS
#define SETS 0 /* 1: an overflow makes the next set due */
#endif
#ifndef FAULTS
#define FAULTS 0 /* register writes that are refused */
#endif
#ifndef SELECTS
#define SELECTS 0 /* 1: each select has its enable bit; 0: one register enables all counters */
#endif
#ifndef LEVEL
#define LEVEL 0 /* 1: the request stays while a counter that has overflowed is wanted */
#endif
#ifndef SUSPENDS
#define SUSPENDS 0 /* suspends, each of which loses all registers */
#endif
#ifndef READS
#define READS 0 /* reads by another CPU */
#endif
#ifndef PAGES
#define PAGES 0 /* reads of the page by the program */
#endif

#define A 0
#define B 1
#define NONE 2
#define C0 1
#define C1 2
#define C2 4
#define BOTH 3

/* Events on counter 0: those of A's sets have the number of the set. */
#define B_EVENT 2
#define NOTHING 3
#define event_of(s, n) ((s) == A -> (n) : B_EVENT)
#define sampling_event(e) ((e) < B_EVENT)

/* States of a session. */
#define STOPPED 0
#define WAITING 1
#define RUNNING 2
#define MASKED 3
#define FAILED 4

/* Hardware. */
byte enable = C2;               /* enable bits */
byte select0 = NOTHING;         /* event that counter 0 is set to count */
bool select1;                   /* counter 1 has its event */
short value0, value1;
bool pending, armed = true;     /* the request; the local interrupt controller lets it pass */

/* The context. */
bool busy, mail, work_due, live = true;
byte wanted = C2, running = C2, sampling, faulted, unknown = BOTH;
byte shadow0 = NOTHING;
byte slot0 = NOTHING, slot1 = NONE;     /* event that runs on a counter */
byte tag0 = NOTHING, tag1 = NONE;       /* event that ran there last */

/* Sessions. */
byte state[2], other = RUNNING;
byte set;                       /* A's active one */
bool is_full, next_due;
short total0[3], base0[3], total1[2], base1[2];
byte due[2] = PERIOD, samples[2], lost[2];
byte sequence;                  /* A's */

/* For the checks alone: events that an enabled counter saw. */
byte happened0[3], happened1;
bool in_nmi, done;
bool filled, restarted;          /* A's ring was full, and A was started again after that */
bool carries;                   /* counter 1 must not stop */
bool suspended;
byte faults, interrupts_left;   /* own interrupts that the enable writes of a bracket allow */
byte moment_counts, moment_times; /* takes that are in A's counts, and in A's times */
bool asked, answered;           /* the other CPU asks for a count */
byte reads, least;              /* events before its read began */

#if LEVEL
#define request (armed && sampling_event(select0) && (enable & C0) && value0 >= 0)
#else
#define request pending
#endif

active proctype Events()
{
    byte ticks;

end:
    do
    ::  d_step { ticks < TICKS && (enable & BOTH) ->
            ticks++;
            assert(other != RUNNING || faults || (enable & C2));
            /* A masked session's counters are closed. */
            assert(faults || state[A] != MASKED || state[B] == RUNNING || !(enable & C0));
            assert(faults || !carries || (enable & C1));
            if
            :: enable & C0 ->
                value0++;
                if
                :: select0 != NOTHING -> happened0[select0]++
                :: else
                fi;
                if
                :: value0 == 0 && armed && sampling_event(select0) -> pending = true
                :: else
                fi
            :: else
            fi;
            if
            :: (enable & C1) -> value1++; happened1 = happened1 + select1
            :: else
            fi
        }
    od
}

/* ---- Registers: a refused write changes nothing and is noted ---- */

inline refuse(counters)
{
    faults < FAULTS -> faults++; faulted = faulted | (counters)
}

/* A write that lets counter 0 run allows one more interrupt. */
inline allow_interrupt()
{
#if LEVEL
    if
    :: enable & C0 -> interrupts_left++
    :: else
    fi
#else
    skip
#endif
}

/* Enable bits of `counters` become those of `word`, which is computed before the write. */
inline write_enable_word(word, counters)
{
#if SELECTS
    if
    :: (counters) & C0 ->
        w = (word) & C0;
        atomic {
            if
            :: assert(faults || !(enable & w) || select0 == shadow0); enable = (enable & ~C0) | w; select0 = shadow0; allow_interrupt()
            :: refuse(C0)
            fi
        }
    :: else
    fi;
    if
    :: (counters) & C1 ->
        w = (word) & C1;
        atomic {
            if
            :: enable = (enable & ~C1) | w
            :: refuse(C1)
            fi
        }
    :: else
    fi;
#else
    w = (word);
    atomic {
        if
        :: enable = w; allow_interrupt()
        :: refuse(C0 | C1 | C2)
        fi
    };
#endif
    w = 0
}

inline write_enables(counters)
{
    write_enable_word(wanted, counters)
}

inline change_enables(close, open)
{
    d_step {
        differ = wanted ^ ((wanted & ~(close)) | (open));
        wanted = (wanted & ~(close)) | (open)
    };
    if
    :: differ -> write_enables(differ); differ = 0
    :: else
    fi
}

/* `wanted` stays as it is. */
inline stop_quietly(counters)
{
    if
    :: (counters) -> write_enable_word(wanted & ~(counters), counters)
    :: else
    fi
}

/* The counter overflows when the next sample is due. */
inline load_period(e)
{
    d_step { base0[e] = total0[e] - due[e] };
    atomic {
        if
        :: value0 = base0[e]
        :: refuse(C0)
        fi
    }
}

/* ---- Counts ---- */

/* A's sequence is odd while its counts, times, state or set change. */
inline change_sequence(s)
{
#ifdef SEQUENCE
    skip
#else
    if
    :: s == A -> sequence++
    :: else
    fi
#endif
}

/* Periods that are over: one sample, the others are lost.  A sample may fill the ring. */
inline finish_period(e)
{
    atomic {
        if
        :: total0[e] >= due[e] ->
            due[e] = due[e] + PERIOD;
            samples[e]++;
            do
#ifdef PERIODS
            :: total0[e] >= due[e] -> due[e] = due[e] + PERIOD
#else
            :: total0[e] >= due[e] -> due[e] = due[e] + PERIOD; lost[e]++
#endif
            :: else -> break
            od;
            if
            :: FILLS && !filled -> filled = true; is_full = true; work_due = true
            :: true
            fi;
            if
            :: SETS -> next_due = true; work_due = true
            :: else
            fi
        :: else
        fi
    }
}

/* ---- Plans: `out`, `in`, `to` (A's set that comes) ---- */

inline compare_registers()
{
    d_step {
        changed = 0;
        if
        :: in != NONE && ((unknown & C0) || shadow0 != event_of(in, to)) -> changed = C0
        :: else
        fi;
        if
        :: in != NONE && (unknown & C1) -> changed = changed | C1
        :: else
        fi;
        carried = 0;
        if
        :: in != NONE && out != NONE -> carried = C1 & ~changed
        :: else
        fi;
        carries = carried
    }
}

inline take_counts()
{
    d_step {
        e = event_of(out, set);
        total0[e] = total0[e] + value0 - base0[e];
        base0[e] = value0
    };
#ifndef TAKE
    if
#ifdef FIRST
    :: sampling_event(e) && !mail -> finish_period(e)
#else
    :: sampling_event(e) -> finish_period(e)
#endif
    :: else
    fi;
#endif
#ifndef TAG
    if /* the counter is loaded when its event comes again */
    :: sampling_event(e) && value0 >= 0 -> tag0 = NOTHING
    :: else
    fi;
#endif
    d_step {
        total1[out] = total1[out] + value1 - base1[out];
        base1[out] = value1;
        if
        :: out == A -> moment_counts++
        :: else
        fi
    }
}

inline take()
{
    change_sequence(out);
#ifndef EARLY
    take_counts();
#endif
    d_step {
        if
        :: out == A -> moment_times++
        :: else
        fi
    };
    d_step {
        state[out] = after;
        if
#ifdef FULL
        :: out == A && is_full -> state[A] = MASKED; is_full = false
#else
        :: out == A && is_full && in != A ->
            state[A] = (after == STOPPED -> STOPPED : MASKED);
            is_full = false; next_due = false
        :: out == A && is_full && in == A -> work_due = true /* the session leaves with the next plan */
#endif
        :: else
        fi
    };
    change_sequence(out)
}

inline load_registers()
{
    if
    :: changed & C0 ->
#if SELECTS
        shadow0 = e; /* the select is written once, as its counter opens */
#else
        shadow0 = e;
        atomic {
            assert(faults || !(enable & C0));
            if
            :: select0 = e
            :: refuse(C0)
            fi
        };
#endif
        unknown = unknown & ~C0
    :: else
    fi;
    if
    :: changed & C1 ->
        atomic {
            assert(faults || !(enable & C1));
            if
            :: select1 = true
            :: refuse(C1)
            fi
        };
        unknown = unknown & ~C1
    :: else
    fi
}

inline load()
{
    change_sequence(in);
    d_step { e = event_of(in, to) };
    load_registers();
    if
#ifdef BASE
    :: tag0 != e ->
#else
    :: tag0 != e || (changed & C0) ->
#endif
        if
        :: sampling_event(e) -> load_period(e)
        :: else -> base0[e] = value0
        fi
    :: else
    fi;
    d_step { tag0 = e; slot0 = e };
    if
#ifdef CARRY
    :: carried -> base1[in] = value1
#else
    :: carried && in != out -> base1[in] = base1[out]
#endif
#ifdef BASE
    :: !carried && tag1 != in -> base1[in] = value1
#else
    :: !carried && (tag1 != in || (changed & C1)) -> base1[in] = value1
#endif
    :: else
    fi;
    d_step {
        tag1 = in;
        slot1 = in;
        if
        :: in == A -> set = to
        :: else
        fi
    };
    state[in] = RUNNING;
    change_sequence(in)
}

inline publish()
{
    d_step {
        if
        :: in == NONE && out != NONE -> slot0 = NOTHING; slot1 = NONE; running = running & ~BOTH
        :: in != NONE -> running = running | BOTH
        :: else
        fi;
        sampling = (in == A -> C0 : 0)
    }
}

/* Sessions with a refused register fail as a whole, and their counters are closed, twice if need be. */
inline repair()
{
    d_step {
        refused = faulted;
        faulted = 0;
        failed = 0;
        if
        :: (refused & C2) && other == RUNNING -> other = FAILED; failed = C2
        :: else
        fi;
        if
        :: (refused & BOTH) && (running & BOTH) ->
            failed = failed | BOTH;
            tag0 = NOTHING; tag1 = NONE; slot0 = NOTHING; slot1 = NONE;
#ifndef SHADOW
            unknown = BOTH;
#endif
            if
            :: state[A] == RUNNING -> state[A] = FAILED; is_full = false; next_due = false
            :: state[B] == RUNNING -> state[B] = FAILED
            fi
        :: else
        fi;
        running = running & ~failed;
        sampling = sampling & ~failed;
#ifdef MEND
        wanted = (wanted & running) | (state[A] == MASKED -> refused & BOTH : 0)
#else
        wanted = wanted & running
#endif
    };
#ifdef ONLY_FAULTED
    write_enables(refused);
    if
    :: faulted -> write_enables(refused)
    :: else
    fi;
#else
#ifndef REPAIR
    write_enables(refused | failed);
    if
    :: faulted -> write_enables(refused | failed)
    :: else
    fi;
#endif
#endif
    d_step { faulted = 0; refused = 0; failed = 0 }
}

inline reconcile()
{
    compare_registers();
#ifdef EARLY
    if
    :: out != NONE -> take_counts()
    :: else
    fi;
#endif
    if /* 1: close */
#ifdef CHANGED
    :: out != NONE -> change_enables(BOTH & ~carried & ~changed, 0)
#else
    :: out != NONE -> change_enables(BOTH & ~carried, 0)
#endif
    :: else
    fi;
    if /* 2 and 3: the clock, counts of the session that leaves */
    :: out != NONE -> take()
    :: else
    fi;
    if /* 4 and 5: registers, start values */
    :: in != NONE -> load()
    :: else
    fi;
#ifndef PUBLISH
    publish(); /* 6 */
#endif
    if /* 7: open */
    :: in != NONE -> change_enables(0, BOTH)
    :: else -> change_enables(BOTH, 0)
    fi;
#ifdef PUBLISH
    publish();
#endif
    carries = false;
    if
    :: faulted -> repair()
    :: else
    fi
}

/* A full session leaves.  One with a due set gets it. */
inline settle_due()
{
    d_step {
        work_due = false;
        out = NONE; in = NONE;
        if
        :: state[A] == RUNNING && is_full -> out = A; after = MASKED
        :: state[A] == RUNNING && !is_full && next_due ->
            out = A; in = A; to = 1 - set; after = WAITING;
            next_due = false
        :: else
        fi
    };
    if
    :: out != NONE -> reconcile()
    :: else
    fi
}

/* ---- Overflows ---- */

/* `closed`: counter 0 stands still. */
inline handle(closed)
{
    if
    :: (sampling & C0) && value0 >= 0 ->
#ifdef RUNS
        v = value0;
        if
        :: !(closed) -> stop_quietly(C0)
        :: else
        fi;
#else
        if
        :: !(closed) -> stop_quietly(C0)
        :: else
        fi;
        v = value0;
#endif
        e = slot0;
        change_sequence(A);
        d_step { total0[e] = total0[e] + v - base0[e]; v = 0 };
        finish_period(e);
        load_period(e);
        change_sequence(A);
        if
        :: !(closed) -> write_enables(C0)
        :: else
        fi
    :: else
    fi
}

/*
 * Nothing is left over where no bracket and no handler is open.  `total`, `base` and what a counter shows are all events
 * that it saw.  A period that is over has its sample, or its interrupt is still to come.
 */
#define live_count0(e) (total0[e] + ((running & C0) && slot0 == (e) -> value0 - base0[e] : 0))
#define live_count1 (total1[A] + total1[B] + ((running & C1) -> value1 - base1[slot1] : 0))
#define runs(s) (state[s] == RUNNING)

inline check_quiet()
{
    assert(!work_due && !faulted);
    assert(!is_full && (!next_due || !runs(A)));
    assert(!filled || restarted || !runs(A));
    assert(!runs(A) && !runs(B) || (select0 == slot0 && select1));
    assert(enable == wanted);
    assert(wanted == running);
    assert(running == (((runs(A) || runs(B)) -> BOTH : 0) | (other == RUNNING -> C2 : 0)));
    assert(!(runs(A) && runs(B)) && sampling == (runs(A) -> C0 : 0));
    assert(!(running & C0) || (slot0 == event_of(slot1, set) && runs(slot1)));
    assert(faults || live_count0(0) == happened0[0]);
    assert(faults || live_count0(1) == happened0[1]);
    assert(faults || live_count0(B_EVENT) == happened0[B_EVENT]);
    assert(faults || live_count1 == happened1);
    assert(samples[0] + lost[0] == total0[0] / PERIOD && samples[1] + lost[1] == total0[1] / PERIOD);
    assert(faults || !runs(A) || value0 < 0 || request)
}

active proctype Handler()
{
    byte foreign, out = NONE, in = NONE, to, after, e, w, changed, carried, differ, refused, failed;
    short v;
    bool closed, own;

end:
    do
    :: d_step { (request || foreign < FOREIGN) && !in_nmi && !done ->
           in_nmi = true;
           if
           :: request -> pending = false; armed = false; own = true
           :: else -> foreign++
           fi
       };
        if
        :: !live -> armed = true
        :: live && busy ->
#if LEVEL
            d_step {
                /* A storm: the counter that overflowed has not been stopped. */
                assert(!own || interrupts_left > 0);
                if
                :: own -> interrupts_left--
                :: else
                fi
            };
#endif
#ifdef STOPS
            skip;
#else
            stop_quietly(sampling);
#endif
#ifndef REARM
            armed = true;
#endif
#ifdef K1
            stop_quietly(BOTH);
            d_step {
                if
                :: FILLS && !filled && runs(A) && (sampling & C0) && value0 >= 0 ->
                    filled = true;
                    state[A] = MASKED;
                    wanted = wanted & ~BOTH; running = running & ~BOTH; sampling = 0;
                    total0[set] = total0[set] + value0 - base0[set]; base0[set] = value0;
                    total1[A] = total1[A] + value1 - base1[A]; base1[A] = value1;
                    lost[set] = lost[set] + total0[set] + PERIOD - due[set]; due[set] = total0[set] + PERIOD;
                    tag0 = NOTHING
                :: else
                fi
            };
#endif
            mail = true
        :: else ->
            closed = (!SELECTS && sampling);
            if
            :: closed -> stop_quietly(C0)
            :: else
            fi;
#ifdef REARM_LATE
            handle(closed);
            armed = true;
#else
            armed = true;
            handle(closed);
#endif
            do
            :: work_due -> settle_due()
            :: else -> break
            od;
            if
#ifdef OPENS
            :: closed -> write_enable_word(wanted | C0, C0)
#else
            :: closed && sampling -> write_enables(sampling)
#endif
            :: else
            fi;
            if
            :: faulted -> repair()
            :: else
            fi;
            atomic {
                if
                :: !mail && !busy -> check_quiet()
                :: else
                fi
            }
        fi;
        d_step {
            in_nmi = false; own = false; closed = false; out = NONE; in = NONE; to = 0; after = 0; e = 0; changed = 0;
            carried = 0; differ = 0
        }
    od
}

/* ---- The local side ---- */

#define START 1     /* session `in` comes, `out` leaves */
#define FOLD 2      /* a tick folds the counters that only count */
#define SUSPEND 3
#define RESUME 4
#define REMOTE 5    /* another CPU asks for a count */

/* Do what a handler left that interrupted this bracket. */
inline read_mail()
{
#ifndef CLEAR_LATE
    mail = false;
#endif
    closed = sampling;
#ifdef MAIL_RUNS
    handle(true);
#else
    if
    :: closed -> stop_quietly(C0)
    :: else
    fi;
    handle(true);
#endif
#ifndef MAIL_STOPPED
    if
    :: closed -> write_enables(C0); closed = false
    :: else
    fi;
#endif
#ifdef CLEAR_LATE
    mail = false
#endif
}

inline leave()
{
    do
    ::  if
        :: mail -> read_mail()
        :: else
        fi;
        if
        :: work_due -> settle_due()
        :: else
        fi;
#ifndef MAIL_FAULT
        if
        :: faulted -> repair()
        :: else
        fi;
#endif
        if
#ifdef ONCE
        :: true ->
#else
        :: !work_due ->
#endif
            busy = false;
            if
#ifdef LOOK
            :: true -> break
#else
            :: !mail -> break
            :: mail -> busy = true
#endif
            fi
        :: else
        fi
    od
}

inline choose()
{
    atomic {
#if LEVEL
        interrupts_left = 1;
#endif
        in = NONE; out = NONE; to = set; after = STOPPED; what = START;
        now = (runs(A) -> A : (runs(B) -> B : NONE));
        if
        :: asked -> what = REMOTE
        :: !asked && call > CALLS && !suspended -> out = now
        :: !asked && suspended ->
            what = RESUME;
            in = (state[A] == WAITING -> A : (state[B] == WAITING -> B : NONE))
        :: !asked && call <= CALLS && !suspended ->
            if
            :: now == NONE -> in = A
            :: now == NONE -> in = B
            :: now != NONE -> out = now
            :: now == A -> out = A; in = B; after = WAITING
            :: now == B && state[A] != MASKED -> out = B; in = A
            :: now != NONE -> what = FOLD
            :: suspends < SUSPENDS -> suspends++; what = SUSPEND; out = now; after = WAITING
            fi
        fi;
        if
        :: in == A && what == START ->
            restarted = restarted || (filled && state[A] != WAITING);
            to = (next_due -> 1 - set : set);
            next_due = false
        :: else
        fi;
        if
        :: what != REMOTE && what != RESUME -> call++
        :: else
        fi
    }
}

/* A counter that only counts and runs on. */
inline fold()
{
    change_sequence(now);
    d_step {
        if
        :: now == B -> total0[B_EVENT] = total0[B_EVENT] + value0 - base0[B_EVENT]; base0[B_EVENT] = value0
        :: else
        fi;
        total1[now] = total1[now] + value1 - base1[now];
        base1[now] = value1
    };
    change_sequence(now)
}

/* All registers are lost.  No handler looks at them. */
inline suspend()
{
    reconcile();
    d_step { other = WAITING; running = running & ~C2 };
    change_enables(C2, 0);
    leave();
    live = false;
    d_step {
        enable = 0; select0 = NOTHING; select1 = false; value0 = 0; value1 = 0; pending = false;
        suspended = true
    }
}

inline resume()
{
    d_step {
#ifndef UNKNOWN
        unknown = BOTH;
#endif
        suspended = false;
        other = RUNNING;
        running = running | C2
    };
    live = true;
    change_enables(0, C2);
    if
    :: in != NONE -> reconcile()
    :: else
    fi
}

#if READS
inline answer_remote()
{
    atomic {
        assert(live_count0(0) >= least && live_count0(0) <= happened0[0]);
        asked = false;
        answered = true
    }
}
#endif

#if PAGES
/* The program reads its page: interrupts come, and the handler may change what it reads. */
inline read_page()
{
    pages++;
    least = happened0[0];
    do
#ifdef SEQUENCE_LATE
    ::  is_active = (runs(A) && set == 0);
        before = sequence;
#else
    ::  before = sequence;
        is_active = (runs(A) && set == 0);
#endif
        if
        :: is_active -> result = value0; result = result + total0[0] - base0[0]
        :: else -> result = total0[0]
        fi;
        if
#ifdef SEQUENCE_END
        :: true -> break
#else
        :: before == sequence -> break
        :: else
#endif
        fi
    od;
    atomic {
        assert(result >= least && result <= happened0[0]);
        result = 0; before = 0; is_active = false; least = 0
    }
}
#endif

active proctype Local() provided (!in_nmi)
{
    byte call, suspends, what, now, out = NONE, in = NONE, to, after, e, w, changed, carried, differ, refused, failed;
    short v;
    bool closed;
#if PAGES
    byte pages, before;
    bool is_active;
    short result;
#endif

    do
#if PAGES
    :: pages < PAGES -> read_page()
#endif
    :: call <= CALLS || runs(A) || runs(B) || suspended || asked ->
#ifdef PLAN_FIRST
        choose();
        busy = true;
#else
        busy = true;
        choose();
#endif
        if
        :: what == SUSPEND -> suspend()
        :: what == RESUME -> resume()
        :: what == START && (in != NONE || out != NONE) -> reconcile()
        :: what == FOLD -> fold()
#if READS
        :: what == REMOTE -> answer_remote()
#endif
        :: else
        fi;
        if
        :: what != SUSPEND -> leave()
        :: else
        fi;
        atomic {
            assert(!mail);
            if
            :: !suspended -> check_quiet()
            :: else
            fi;
            out = NONE; in = NONE; to = 0; after = 0; e = 0; changed = 0; carried = 0; what = 0; now = 0
        }
    :: call > CALLS && !runs(A) && !runs(B) && !suspended && !asked && !request && reads == READS -> break
    od;
    atomic {
        done = true;
        assert(!(enable & BOTH))
    }
}

#if READS
/* The other CPU: of a session that runs it asks that CPU; else it reads what is stored. */
active proctype Remote()
{
    byte before, counts, times;
    short count;

    do
    :: reads < READS ->
        least = happened0[0];
        do
        ::  atomic { sequence % 2 == 0 -> before = sequence };
            if
            :: runs(A) -> asked = true; (answered); answered = false; break
            :: else ->
                times = moment_times;
                counts = moment_counts;
                count = total0[0];
                if
#ifdef SEQUENCE_END
                :: true ->
#else
                :: before == sequence ->
#endif
                    assert(count >= least && count <= happened0[0]);
                    assert(counts == times); /* both are of one moment */
                    break
                :: else
                fi
            fi
        od;
        atomic { reads++; before = 0; count = 0; counts = 0; times = 0; least = 0 }
    :: else -> break
    od
}
#endif
