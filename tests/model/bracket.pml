/* SPDX-License-Identifier: MIT */
/*
 * Plans, brackets, mail and faults on one CPU (README.md, "bracket.pml").  Each inline names the function that it is a
 * model of; the numbers are the steps of upmu_reconcile().
 *
 * Session A has two sets.  Each samples on counter 0 and counts on counter 1.  An overflow makes the other set
 * due.  A sample may fill A's ring, which masks A.  Session B counts on both counters.  Counter 1 has one event in
 * all sets, so a switch carries it.  Counter 2 belongs to session C, which runs all the time.  With THIRD it samples
 * what stands still in calls (upmu_meter_still()): it is loaded without a stop, and only a handler in a bracket stops it.
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
#define FAULTS 0 /* register accesses that are refused */
#endif
#ifndef SELECTS
#define SELECTS 0 /* 1: each select has its enable bit (K8); 0: one register enables all counters */
#endif
#ifndef STATUS
#define STATUS (!SELECTS) /* a status register tells of overflows */
#endif
#ifndef THIRD
#define THIRD 0 /* overflows of counter 2 (with SELECTS, without STATUS and LEVEL) */
#endif
#ifndef LEVEL
#define LEVEL 0 /* 1: the request stays while the select's overflow flag is set, and is re-armed last (NetBurst) */
#endif
#ifndef SUSPENDS
#define SUSPENDS 0 /* suspends, each of which loses all registers */
#endif
#ifndef READS
#define READS 0 /* reads by another CPU */
#endif
#ifndef READS_HERE
#define READS_HERE 0 /* reads by this CPU */
#endif
#ifndef LOOKS
#define LOOKS 4 /* of a bracket's end, before it opens what handlers stopped */
#endif
#ifndef ROUNDS
#define ROUNDS 4 /* times that a bracket's end begins anew */
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

#define runs(s) (state[s] == RUNNING)

/* Hardware. */
byte enable = C2;               /* enable bits */
byte select0 = NOTHING;         /* event that counter 0 is set to count */
bool select1;                   /* counter 1 has its event */
short value0, value1;
bool pending, armed = true;     /* the request; the local interrupt controller lets it pass */
bool flag;                      /* of counter 0: in the status register, or in its select (LEVEL) */

/* What is known of the registers (core/hw/bank.c). */
byte gate = C2;                 /* shadow of the enable bits */
byte known = C2;                /* counters whose select is known */
bool gate_known = true;         /* the common enable register is known (SELECTS 0) */
byte shadow0 = NOTHING;
byte put_off;                   /* SELECTS: selects that are written as their counters open */

/* The context (struct upmu_meter). */
bool busy, in_handler, work_due, live = true;
bool mail;                      /* mail.pending */
byte running = C2, sampling, halted, failed, flagged;
byte stopped;                   /* bank.stopped: counters that run again by the next write of their enable bits */
byte slot0 = NOTHING, slot1 = NONE;     /* event that runs on a counter */
byte tag0 = NOTHING, tag1 = NONE;       /* event whose value a counter has */

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
bool filled, restarted;         /* A's ring was full, and A was started again after that */
bool carries;                   /* counter 1 must not stop */
bool suspended;
bool late;                      /* a bracket has left work for a tick */
bool third_passed;              /* counter 2 has overflowed */
byte faults, interrupts_left;   /* own interrupts that the enable writes of a bracket allow */
byte moment_counts, moment_times; /* takes that are in A's counts, and in A's times */
bool asked, answered;           /* the other CPU asks for a count */
byte reads, least;              /* events before its read began */

#if LEVEL
#define request (armed && flag)
#else
#define request pending
#endif

/* ---- Hardware ---- */

active proctype Events()
{
    byte ticks;
#if THIRD
    byte thirds;
#endif

end:
    do
    ::  d_step { ticks < TICKS && (enable & BOTH) ->
            ticks++;
            assert(other != RUNNING || faults || (enable & C2) || THIRD);
            /* A masked session's counters are closed. */
            assert(faults || state[A] != MASKED || state[B] == RUNNING || !(enable & C0));
            assert(faults || !carries || (enable & C1) || in_nmi || mail || stopped);
            if
            :: enable & C0 ->
                value0++;
                if
                :: select0 != NOTHING -> happened0[select0]++
                :: else
                fi;
                if /* Without a status register only what samples interrupts. */
                :: value0 == 0 && (STATUS || sampling_event(select0)) ->
                    if
                    :: armed && !(STATUS && flag) -> pending = true
                    :: else
                    fi;
                    flag = (STATUS || LEVEL)
                :: else
                fi
            :: else
            fi;
            if
            :: (enable & C1) -> value1++; happened1 = happened1 + select1
            :: else
            fi
        }
#if THIRD
    ::  d_step { thirds < THIRD && (enable & C2) && !third_passed ->
            thirds++;
            third_passed = true;
            pending = pending || armed
        }
#endif
    od
}

/* ---- Registers (core/hw/bank.c): a refused access changes nothing ---- */

#define refuses faults < FAULTS -> faults++; ok = false

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

/* upmu_bank_open() */
#define open_of(m) (open_one(m, C0) | open_one(m, C1) | open_one(m, C2))
#define open_one(m, c) ((((m) & (c)) && is_open(c)) -> (c) : 0)

/* take_stopped(), forget_stopped() */
inline take_stopped(counters)
{
    if
    :: in_nmi -> d_step { was = stopped & (counters); stopped = stopped & ~was }
    :: else ->
#ifdef SNAPSHOT
        rest = stopped & ~(counters);
        was = stopped & (counters);
        if
        :: was | rest -> d_step { stopped = stopped & rest; rest = 0 }
        :: else
        fi
#else
        was = stopped & (counters);
        if
        :: was -> stopped = stopped & ~was
        :: else
        fi
#endif
    fi
}

/* has_stopped(): the handler that works now has stopped all of these. */
#define has_stopped(counters) (in_nmi && (counters) && !((counters) & ~stopped))

#if SELECTS

/* write_msr(): what is closed is idle. */
inline write_select(c, on)
{
    atomic {
        if
        ::  ok = true;
            enable = ((on) -> enable | (c) : enable & ~(c));
            if
            :: (c) == C0 -> select0 = ((on) -> shadow0 : NOTHING); flag = flag && !LEVEL; allow_interrupt()
            :: (c) == C1 -> select1 = (on)
            :: else
            fi
        :: refuses
        fi
    }
}

/* write_value() */
inline put_select(c, on)
{
    d_step {
        before = gate;
        gate = ((on) -> gate | (c) : gate & ~(c));
        known = known | (c);
        put_off = put_off & ~(c)
    };
    take_stopped(c);
    write_select(c, on);
    if
    :: !ok ->
        d_step {
            stopped = stopped | was;
            gate = before;
#ifndef SHADOW
            known = known & ~(c)
#endif
        }
    :: else
    fi
}

/* One counter of upmu_bank_gate(). */
inline gate_one(c, opens, closes)
{
    if
    :: ((opens) | (closes)) & (c) ->
        ok = true;
        if
        :: !(known & (c)) -> /* present_value() */
            atomic {
                if
                ::  gate = (gate & ~(c)) | (enable & (c)) | (stopped & gate & (c));
                    known = known | (c);
                    if
                    :: (c) == C0 -> shadow0 = select0
                    :: else
                    fi
                :: refuses
                fi
            }
        :: else
        fi;
        if
        :: ok && ((closes) & (c)) && has_stopped(c) -> d_step { gate = gate & ~(c); stopped = stopped & ~(c) }
        :: ok && ((opens) & (c)) && (!(gate & (c)) || (put_off & (c))) -> put_select(c, true)
        :: ok && ((closes) & (c)) && !has_stopped(c) && ((gate & (c)) || (put_off & (c))) -> put_select(c, false)
        :: else
        fi;
        fine = fine && ok
    :: else
    fi
}

/* upmu_bank_gate() */
inline bank_gate(opens, closes)
{
    fine = true;
    gate_one(C1, opens, closes);
    gate_one(C0, opens, closes);
    ok = fine
}

#define is_open(c) ((gate & (c)) || !(known & (c)))

/* What upmu_bank_handler_open() notes of one register before it is written, and after that. */
inline note_stops(counters)
{
    take_stopped(counters);
    if
    :: keep & (counters) -> stopped = stopped | open_of(keep & (counters))
    :: else
    fi
}

inline note_fault(counters)
{
    if
    :: !ok -> d_step { stopped = (stopped & ~(counters)) | was }
    :: else
    fi
}

/* One counter of upmu_bank_handler_open() */
inline handler_open_one(c, counters)
{
    if
    :: (counters) & (c) ->
        w = gate & known & ~keep & (c);
        note_stops(c);
        write_select(c, w);
        note_fault(c);
        fine = fine && ok
    :: else
    fi
}

/* upmu_bank_handler_open() */
inline handler_open(counters, keep_closed)
{
    d_step { fine = true; keep = keep_closed };
    handler_open_one(C0, counters);
    handler_open_one(C1, counters);
#if THIRD
    handler_open_one(C2, counters);
#endif
    d_step { ok = fine; keep = 0; w = 0 }
}

#else

inline write_enable(word)
{
    atomic {
        if
        :: ok = true; enable = (word); allow_interrupt()
        :: refuses
        fi
    }
}

/* write_value(): first the shadow. */
inline put_gate(word)
{
    d_step { before = gate; gate = (word); w = gate };
    take_stopped(C0 | C1 | C2);
    write_enable(w);
    if
    :: !ok ->
        d_step {
            stopped = stopped | was;
            gate = before;
#ifndef SHADOW
            gate_known = false
#endif
        }
    :: else
    fi;
    w = 0
}

/* upmu_bank_gate() */
inline bank_gate(opens, closes)
{
    ok = true;
    if
    :: !gate_known -> /* present_value() */
        atomic {
            if
#ifdef LACKS
            :: gate = enable; gate_known = true
#else
            :: gate = enable | (stopped & gate); gate_known = true /* learn_value() */
#endif
            :: refuses
            fi
        }
    :: else
    fi;
    if
    :: ok && !(opens) && has_stopped(closes) ->
        d_step {
            gate = gate & ~(closes);
#ifndef OPENS
            stopped = stopped & ~(closes)
#endif
        }
    :: ok && ((opens) || !has_stopped(closes)) && ((gate & ~(closes)) | (opens)) != gate ->
        put_gate((gate & ~(closes)) | (opens))
    :: else
    fi
}

#define is_open(c) ((gate & (c)) || !gate_known)

/* upmu_bank_handler_open() */
inline handler_open(counters, keep_closed)
{
    d_step { keep = keep_closed; w = gate & ~keep };
    take_stopped(C0 | C1 | C2);
    if
    :: keep -> stopped = stopped | ((keep & ~gate) -> open_of(keep) : keep)
    :: else
    fi;
#ifdef OPENS
    w = w | ((counters) & ~keep);
#endif
    write_enable(w);
    if
    :: !ok -> d_step { stopped = was }
    :: else
    fi;
    d_step { keep = 0; w = 0 }
}

#endif

/* A fault is answered by a second attempt. */
#define twice(call)                                      \
    d_step { tries = 0; ok = false };                    \
    do                                                   \
    :: !ok && tries < 2 -> tries++; call                 \
    :: ok || tries == 2 -> break                         \
    od;                                                  \
    tries = 0

/* halt_counters() of interrupt.c */
inline stop_quietly(counters)
{
    twice(handler_open(counters, counters))
}

/* enable_again() */
inline enable_again(counters)
{
    back = (counters);
    twice(handler_open(back, 0));
    if
    :: !ok -> failed = failed | back
    :: else
    fi;
    back = 0
}

/* ---- Counts (count.c, report.c) ---- */

/* A's sequence is odd while its counts, times, state or set change. */
inline change_sequence(s)
{
#ifdef SEQUENCE
    skip
#else
    if
    :: READS + READS_HERE > 0 && s == A -> sequence++
    :: else
    fi
#endif
}

/* upmu_count_load() of what is due, written */
inline load_period(e)
{
    atomic {
        if
        :: ok = true; value0 = total0[e] - due[e]; base0[e] = value0
        :: refuses
        fi
    }
}

/* upmu_count_due(): periods that are over are one sample, the others are lost.  `has_sample`: one is due. */
inline finish_period(e)
{
    d_step {
        has_sample = false;
        if
        :: total0[e] >= due[e] ->
            due[e] = due[e] + PERIOD;
            has_sample = true;
            do
#ifdef PERIODS
            :: total0[e] >= due[e] -> due[e] = due[e] + PERIOD
#else
            :: total0[e] >= due[e] -> due[e] = due[e] + PERIOD; lost[e]++
#endif
            :: else -> break
            od
        :: else
        fi
    }
}

/* record_overflow(): a sample may fill the ring.  A session that is full has lost it. */
inline record(e)
{
    atomic {
        if
        :: has_sample && is_full -> lost[e]++
        :: has_sample && !is_full ->
            samples[e]++;
            if
            :: SETS -> next_due = true; work_due = true
            :: else
            fi;
            if
            :: FILLS && !filled -> filled = true; is_full = true; work_due = true
            :: true
            fi
        :: else
        fi;
        has_sample = false
    }
}

/* upmu_count_acknowledge() */
inline acknowledge(counters)
{
    d_step {
        if
        :: flagged & (counters) & C0 -> flagged = 0; flag = flag && !STATUS
        :: else
        fi
    }
}

/* ---- Plans: `out`, `in`, `to` (A's set that comes) ---- */

/* compare_program() of plan.c, and what upmu_reconcile() has of it */
inline compare_registers()
{
    d_step {
        changed = 0;
        if
        :: in != NONE && (!(known & C0) || shadow0 != event_of(in, to)) -> changed = C0
        :: else
        fi;
        if
        :: in != NONE && !(known & C1) -> changed = changed | C1
        :: else
        fi;
        carried = 0;
        if
        :: in != NONE && out != NONE -> carried = C1 & ~changed
        :: else
        fi;
        carries = carried;
        leave = (out != NONE -> BOTH : 0);
        come = (in != NONE -> BOTH : 0)
    }
}

/* close_counters(), step 1 */
inline close(counters)
{
    twice(bank_gate(0, counters));
    if
    :: !ok -> failed = failed | (counters)
    :: else
    fi
}

/* upmu_count_take() of both counters */
inline take_counts()
{
    e = event_of(out, set);
    v = value0;
    d_step {
        if
        :: (sampling_event(e) && v >= 0) || (v >= 0 && base0[e] < 0) -> flagged = STATUS /* upmu_count_note_wrap() */
        :: else
        fi;
        total0[e] = total0[e] + v - base0[e];
        base0[e] = v
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
    d_step {
#ifndef TAG
        if /* the counter is loaded when its event comes again */
        :: sampling_event(e) && (v >= 0 || has_sample) -> tag0 = NOTHING
        :: else
        fi;
#endif
        total1[out] = total1[out] + value1 - base1[out];
        base1[out] = value1;
        v = 0;
        if
        :: out == A -> moment_counts++
        :: else
        fi
    }
}

/* take_part(), step 3 */
inline take()
{
    change_sequence(out);
#ifndef EARLY
    take_counts();
#endif
    record(e);
    d_step {
        if
        :: out == A -> moment_times++
        :: else
        fi;
        left_as = after;
        if
#ifdef FULL
        :: out == A && is_full && in != A -> left_as = MASKED; is_full = false
#else
        :: out == A && is_full -> left_as = MASKED; is_full = false
#endif
        :: else
        fi;
        if
        :: failed & BOTH -> left_as = STOPPED
        :: else
        fi;
        state[out] = left_as;
        if /* upmu_sets_switched() */
        :: follows -> next_due = false; set = 1 - set
        :: else
        fi
    };
    change_sequence(out)
}

#ifdef SHADOW
#define forget_select(c) skip
#else
#define forget_select(c) known = known & ~(c)
#endif

/* load_registers(), step 4 */
inline load_registers()
{
    e = event_of(in, to);
#if SELECTS
    d_step { /* upmu_bank_merge(): left to the opening */
        if
        :: changed & C0 -> shadow0 = e; gate = gate & ~C0
        :: else
        fi;
        known = known | changed;
        put_off = put_off | changed
    }
#else
    if
    :: changed & C0 ->
        shadow0 = e;
        known = known | C0;
        atomic {
            assert(faults || !(enable & C0));
            if
            :: select0 = e
            :: refuses; failed = failed | C0; forget_select(C0)
            fi
        }
    :: else
    fi;
    if
    :: changed & C1 ->
        known = known | C1;
        atomic {
            assert(faults || !(enable & C1));
            if
            :: select1 = true
            :: refuses; failed = failed | C1; forget_select(C1)
            fi
        }
    :: else
    fi
#endif
}

/* load_event(), load_plain(), step 5 */
inline load_values()
{
    if
    :: !sampling_event(e) -> acknowledge(C0)
    :: else
    fi;
    if
#ifdef BASE
    :: tag0 != e ->
#else
    :: tag0 != e || (changed & C0) ->
#endif
        if
        :: sampling_event(e) ->
            load_period(e);
            if
            :: !ok -> failed = failed | C0
            :: else
            fi
        :: else -> base0[e] = value0
        fi;
        tag0 = e
    :: else
    fi;
    slot0 = e;
    d_step {
        if
#ifdef CARRY
        :: carried -> base1[in] = value1
#else
        :: carried -> base1[in] = base1[slot1]
#endif
#ifdef BASE
        :: !carried && tag1 != in -> base1[in] = value1
#else
        :: !carried && (tag1 != in || (changed & C1)) -> base1[in] = value1
#endif
        :: else
        fi;
        tag1 = in;
        slot1 = in
    }
}

/* drop_part(): nothing comes. */
inline drop_part()
{
    d_step { come = 0; in = NONE; carries = false }
}

/* refuse_part() */
inline refuse_part()
{
    d_step {
        failed = failed | BOTH;
        tag0 = NOTHING; tag1 = NONE; slot0 = NOTHING; slot1 = NONE;
        if
        :: in == A -> is_full = false
        :: else
        fi;
        state[in] = STOPPED
    };
    drop_part()
}

/* load_part() */
inline load()
{
    if
    :: in == out && state[in] != after -> /* it was masked, or has failed */
#ifndef LET_GO
        drop = BOTH & carried;
        carries = false;
        close(drop);
        d_step { tag1 = (drop -> NONE : tag1); drop = 0 };
#endif
        drop_part()
    :: (in != out || state[in] == after) && (failed & BOTH) -> refuse_part()
    :: else ->
        change_sequence(in);
        load_registers();
        d_step {
            if
            :: in == A -> set = to
            :: else
            fi
        };
        load_values();
        if
        :: failed -> s = in; refuse_part(); change_sequence(s); s = NONE
        :: else ->
            d_step {
                state[in] = RUNNING;
                if
                :: in == A ->
                    is_full = false;
                    work_due = work_due || next_due
                :: else
                fi
            };
            change_sequence(in)
        fi
    fi
}

/* publish_plan(), step 6 */
inline publish()
{
    if
    :: (halted & leave) || in == A ->
        sampling = (in == A -> C0 : 0);
        halted = (in == A -> BOTH : 0)
    :: else
    fi;
    running = (running & ~leave) | come;
    d_step {
        if
        :: leave && !come -> slot0 = NOTHING; slot1 = NONE
        :: else
        fi
    }
}

/* open_parts(), step 7 */
inline open_parts()
{
    opening = come & ~(carried | failed);
    if
    :: opening ->
        bank_gate(opening, 0);
        if
        :: !ok -> failed = failed | opening
        :: else
        fi;
        opening = 0
    :: else
    fi
}

/* upmu_reconcile_repair(): sessions with a failed register fail as a whole, and their counters are closed. */
inline repair()
{
    d_step { closing = ((failed & BOTH) && (running & BOTH) -> BOTH : 0) };
    running = running & ~closing;
    sampling = sampling & ~closing;
    halted = halted & ~closing;
#ifdef ONLY_FAULTED
    closing = failed & BOTH;
#endif
#ifndef REPAIR
    drop = closing | open_of(failed & ~running);
    close(drop);
    drop = 0;
#endif
    d_step {
        if
        :: closing && state[A] == RUNNING -> state[A] = STOPPED; is_full = false
        :: closing && state[B] == RUNNING -> state[B] = STOPPED
        :: else
        fi;
        if
        :: failed & BOTH -> tag0 = NOTHING; tag1 = NONE
        :: else
        fi;
        if
        :: closing -> slot0 = NOTHING; slot1 = NONE
        :: else
        fi
    };
#ifdef MEND
    if
    :: state[A] == MASKED && (failed & BOTH) && !(running & BOTH) -> bank_gate(failed & BOTH, 0)
    :: else
    fi;
#endif
    d_step { failed = 0; closing = 0 }
}

/* upmu_reconcile() */
inline reconcile()
{
    compare_registers();
#ifdef EARLY
    if
    :: out != NONE -> take_counts()
    :: else
    fi;
#endif
#ifdef CHANGED
    closing = leave & ~carried & ~changed;
#else
    closing = (leave & ~carried) | (changed & running);
#endif
    closing = closing | open_of(come & ~running); /* find_open() */
    if
    :: closing -> close(closing); closing = 0
    :: else
    fi;
    if
    :: out != NONE -> take()
    :: else
    fi;
    if
    :: in != NONE -> load()
    :: else
    fi;
#ifndef PUBLISH
    publish();
#endif
    open_parts();
#ifdef PUBLISH
    publish();
#endif
    d_step { carries = false; follows = false; leave = 0; come = 0; changed = 0; carried = 0; e = 0 };
    if
    :: failed -> repair()
    :: else
    fi
}

/* upmu_reconcile_due(): a full session leaves.  One with a due set gets it. */
inline plan_due()
{
    d_step {
        work_due = false;
        out = NONE; in = NONE; after = WAITING;
        if
        :: state[A] == RUNNING && is_full -> out = A
        :: state[A] == RUNNING && !is_full && next_due -> out = A; in = A; to = 1 - set; follows = true
        :: else
        fi
    }
}

/* ---- The interrupt (interrupt.c) ---- */

/* upmu_interrupt_end() */
inline interrupt_end()
{
    if
    :: stopped -> enable_again(stopped)
    :: else
    fi
}

/* close_strays(): what does not run and keeps its request. */
inline close_strays()
{
#if LEVEL
    if
    :: !passed && !(running & C0) && (busy || !(known & C0)) && flag -> handler_open(C0, 0)
    :: else
    fi
#else
    skip
#endif
}

/* take_overflow() */
inline take_overflow()
{
    e = slot0;
    change_sequence(A);
    d_step { total0[e] = total0[e] + v - base0[e]; base0[e] = v };
    finish_period(e);
    twice(load_period(e));
    if
    :: !ok -> failed = failed | C0; tag0 = NOTHING
    :: else -> tag0 = e
    fi;
    change_sequence(A)
}

/* handle_overflows(), up to its plan */
inline begin_handle(is_mail)
{
    look = sampling;
#if !SELECTS
    if
    :: halted ->
#ifdef MAIL_RUNS
        if
        :: !(is_mail) -> stop_quietly(halted)
        :: else -> ok = true
        fi;
#else
        stop_quietly(halted);
#endif
        if
        :: !ok -> failed = failed | sampling; look = 0
        :: else
        fi
#ifdef MAIL_STOPPED
        ;
        if
        :: is_mail -> stopped = 0
        :: else
        fi
#endif
    :: else
    fi;
#endif
#ifndef REARM_LATE
    if
    :: !(is_mail) && !LEVEL -> armed = true
    :: else
    fi;
#endif
    seen = STATUS && flag;
    if /* look_at_counter() */
    :: (look & C0) && value0 >= 0 ->
        v = value0;
        passed = true;
#if SELECTS
        stop_quietly(C0);
#ifndef RUNS
        v = value0;
#endif
        if
        :: !ok -> failed = failed | C0
        :: else -> take_overflow()
        fi;
        if
        :: !(is_mail) -> enable_again(C0)
        :: else
        fi;
#else
        take_overflow();
#endif
        v = 0
    :: else
    fi;
#if STATUS
    if /* add_wrapped() */
    :: seen && (running & ~sampling & C0) && slot0 == B_EVENT ->
        v = value0;
        d_step { total0[B_EVENT] = total0[B_EVENT] + v - base0[B_EVENT]; base0[B_EVENT] = v; v = 0 }
    :: else
    fi;
#endif
#if THIRD
    third_passed = false; /* it stands still: it is not stopped for its load */
#endif
#ifdef REARM_LATE
    armed = true;
#endif
    record(e);
    if /* acknowledge_overflows() */
    :: seen || passed -> d_step { flag = flag && !STATUS; flagged = 0 }
    :: else
    fi;
    if
    :: work_due -> plan_due()
    :: else
    fi
}

/* handle_overflows(), after its plan */
inline end_handle(is_mail)
{
    if
    :: !(is_mail) -> interrupt_end()
    :: else
    fi;
    if
#ifdef MAIL_FAULT
    :: failed && !(is_mail) -> repair()
#else
    :: failed -> repair()
#endif
    :: else
    fi;
    close_strays();
    if
    :: LEVEL && !(is_mail) -> armed = true
    :: else
    fi;
    d_step { look = 0; seen = false; passed = false; e = 0 }
}

/* leave_mail() */
inline leave_mail()
{
#if LEVEL
    d_step {
        /* A storm: the counter that overflowed has not been stopped. */
        assert(!own || interrupts_left > 0);
        if
        :: own -> interrupts_left--
        :: else
        fi
    };
#else
#ifndef REARM
    armed = true;
#endif
#endif
    seen = STATUS && flag;
    passed = (STATUS -> seen && sampling : sampling && slot0 != NOTHING && value0 >= 0);
    doubt = !seen && !passed && sampling && slot0 != NOTHING && value0 >= 0; /* has_doubt() */
#ifndef STOPS
#if SELECTS
    look = (passed -> C0 : 0) | (third_passed -> C2 : 0);
#else
    look = (passed || seen || doubt -> halted : 0);
#endif
    if
    :: look -> stop_quietly(look)
    :: else
    fi;
#endif
#ifdef K1
    stop_quietly(BOTH);
    d_step {
        if
        :: FILLS && !filled && runs(A) && sampling && value0 >= 0 ->
            filled = true;
            state[A] = MASKED;
            gate = gate & ~BOTH; running = running & ~BOTH; sampling = 0; halted = 0;
            total0[set] = total0[set] + value0 - base0[set]; base0[set] = value0;
            total1[A] = total1[A] + value1 - base1[A]; base1[A] = value1;
            lost[set] = lost[set] + total0[set] + PERIOD - due[set]; due[set] = total0[set] + PERIOD;
            tag0 = NOTHING
        :: else
        fi
    };
#endif
    if
    :: passed || seen || doubt || third_passed -> mail = true
    :: else
    fi;
#if LEVEL
    close_strays();
#ifndef REARM
    armed = true;
#endif
#endif
    d_step { look = 0; seen = false; passed = false; doubt = false }
}

/*
 * Nothing is left over where no bracket and no handler is open (`work_due` may say that something is due where
 * nothing is: a plan of a handler has masked the session that it noted).  `total`, `base` and what a counter shows
 * are all events that it saw.  A period that is over has its sample, or its interrupt is still to come.
 */
#define live_count0(e) (total0[e] + ((running & C0) && slot0 == (e) -> value0 - base0[e] : 0))
#define live_count1 (total1[A] + total1[B] + ((running & C1) -> value1 - base1[slot1] : 0))

inline check_quiet()
{
    assert(!failed && !stopped);
    assert(late || !is_full && (!next_due || !runs(A)));
    assert(late || !filled || restarted || !runs(A));
    assert(running == (((runs(A) || runs(B)) -> BOTH : 0) | (other == RUNNING -> C2 : 0)));
    assert(!(runs(A) && runs(B)) && sampling == (runs(A) -> C0 : 0) && halted == (runs(A) -> BOTH : 0));
    assert(enable == running);
    assert(!gate_known || gate == running);
    assert(!runs(A) && !runs(B) || (select0 == slot0 && select1));
    assert((running & C0) && slot0 == event_of(slot1, set) && runs(slot1) || !(running & C0) && slot0 == NOTHING);
    assert(faults || live_count0(0) == happened0[0]);
    assert(faults || live_count0(1) == happened0[1]);
    assert(faults || live_count0(B_EVENT) == happened0[B_EVENT]);
    assert(faults || live_count1 == happened1);
    assert(faults || samples[0] + lost[0] == total0[0] / PERIOD && samples[1] + lost[1] == total0[1] / PERIOD);
    assert(faults || late || !runs(A) || value0 < 0 || request);
    assert(faults || late || !flag || request)
}

active proctype Handler()
{
    byte foreign, out = NONE, in = NONE, s = NONE, to, after, e, w, changed, carried, leave, come, closing;
    byte opening, back, keep, was;
#ifdef SNAPSHOT
    byte rest;
#endif
    byte before, drop, look, left_as, tries;
    short v;
    bool own, ok, fine, seen, passed, doubt, has_sample, follows;

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
        :: !live
#ifdef FINISH
        :: false
#else
        :: live && in_handler /* STALE */
#endif
        :: live && !in_handler ->
            in_handler = true;
            if
            :: busy -> leave_mail()
            :: else ->
                begin_handle(false);
                if
                :: out != NONE -> reconcile()
                :: else
                fi;
                end_handle(false);
                atomic {
                    if
                    :: !mail && !busy -> check_quiet()
                    :: else
                    fi
                }
            fi;
            in_handler = false
        fi;
        d_step {
            in_nmi = false; own = false; out = NONE; in = NONE; to = 0; after = 0; left_as = 0; ok = false;
            fine = false;
            before = 0; was = 0
        }
    od
}

/* ---- The local side ---- */

#define START 1     /* session `in` comes, `out` leaves */
#define FOLD 2      /* a tick */
#define SUSPEND 3
#define RESUME 4
#define REMOTE 5    /* another CPU asks for a count */

/* What goes on after a plan. */
#define END_CALL 1
#define END_HANDLE 2
#define END_SETTLE 3

#define has_work (mail || work_due || failed || (flagged & running & ~sampling))

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
        :: !asked && late && !suspended -> what = FOLD; late = false /* the tick that was asked for */
        :: !asked && !late && call > CALLS && !suspended -> out = now
        :: !asked && suspended ->
            what = RESUME;
            in = (state[A] == WAITING -> A : (state[B] == WAITING -> B : NONE))
        :: !asked && !late && call <= CALLS && !suspended ->
            if
            :: now == NONE -> in = A
            :: now == NONE -> in = B
            :: now != NONE -> out = now
            :: now == A -> out = A; in = B; after = WAITING
            :: now == B && state[A] != MASKED -> out = B; in = A; after = WAITING
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

/* upmu_interrupt_poll() */
inline poll()
{
    change_sequence(now);
    if
    :: now == B ->
        v = value0;
        d_step {
            if
            :: v >= 0 && base0[B_EVENT] < 0 -> flagged = STATUS
            :: else
            fi;
            total0[B_EVENT] = total0[B_EVENT] + v - base0[B_EVENT]; base0[B_EVENT] = v; v = 0
        }
    :: now == A && value0 >= 0 -> mail = true; armed = true /* look_for_silence() */
    :: else
    fi;
    d_step {
        if
        :: now != NONE ->
            total1[now] = total1[now] + value1 - base1[now];
            base1[now] = value1
        :: else
        fi
    };
    change_sequence(now)
}

/* upmu_life_suspend(), after its plans: nothing is due where nothing runs.  All registers are lost. */
inline suspend()
{
    work_due = false;
    live = false;
    d_step {
        other = WAITING; running = running & ~C2;
        enable = 0; select0 = NOTHING; select1 = false; value0 = 0; value1 = 0; pending = false; flag = false;
        gate = 0; put_off = 0; failed = 0; flagged = 0;
#ifndef UNKNOWN
        known = 0; shadow0 = NOTHING;
#endif
#ifndef BASE
        tag0 = NOTHING; tag1 = NONE;
#endif
        suspended = true
    }
}

/* upmu_life_resume() */
inline resume()
{
    d_step { gate = 0; gate_known = true; flag = false; armed = true; suspended = false; other = RUNNING;
    running = C2; enable = C2; gate = C2; known = known | C2 };
    live = true
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

#if READS_HERE
/* read_counts(), in no bracket: an interrupt may change what is read. */
inline read_here()
{
    done_reads++;
    least = happened0[0];
    do
    ::  first = sequence;
        is_active = runs(A);
        result = total0[0];
        if
        :: is_active && set == 0 && runs(A) -> v = value0; result = result + v - base0[0]
        :: else
        fi;
        if
#ifdef SEQUENCE_END
        :: true -> break
#else
        :: first % 2 == 0 && first == sequence -> break
        :: else
#endif
        fi
    od;
    atomic {
        assert(result >= least && result <= happened0[0]);
        result = 0; first = 0; is_active = false; least = 0; v = 0
    }
}
#endif

active proctype Local() provided (!in_nmi)
{
    byte call, suspends, what, now, out = NONE, in = NONE, s = NONE, to, after, e, w, changed, carried, leave;
    byte come, closing, opening;
#ifdef SNAPSHOT
    byte rest;
#endif
    byte back, keep, was, before, drop, look, left_as, rounds, looks, tries, goes_to, stopper = NONE;
    short v;
    bool ok, fine, seen, passed, has_sample, follows;
#if READS_HERE
    byte done_reads, first;
    bool is_active;
    short result;
#endif

    do
#if READS_HERE
    :: done_reads < READS_HERE && !suspended -> read_here()
#endif
    :: call <= CALLS || runs(A) || runs(B) || suspended || asked || late ->
#ifdef PLAN_FIRST
        choose();
        busy = true;
#else
        busy = true;
        choose();
#endif
        stopper = out;
        goes_to = END_CALL;
        if
        :: what == RESUME -> resume()
        :: what == FOLD -> poll()
#if READS
        :: what == REMOTE -> answer_remote()
#endif
        :: else
        fi;
        if
        :: in == NONE && out == NONE -> goto end_call
        :: else
        fi;
plan:
        skip;
        reconcile();
        d_step { out = NONE; in = NONE };
        if
        :: goes_to == END_CALL -> goto end_call
        :: goes_to == END_HANDLE -> goto handled
        :: goes_to == END_SETTLE -> goto settled
        fi;
end_call:
        atomic {
            if /* upmu_waiting_end() */
            :: after == STOPPED && stopper != NONE -> state[stopper] = STOPPED
            :: else
            fi;
            stopper = NONE
        };
        if
        :: what == SUSPEND -> suspend()
        :: else
        fi;
        d_step { rounds = 0; looks = 0 };
        /* upmu_bracket_leave() */
        do
        :: has_work && looks < LOOKS -> /* settle_work() */
            looks++;
            if
            :: !mail -> goto no_mail
            :: else
            fi;
read_mail:
            skip;
#ifndef CLEAR_LATE
            mail = false; /* upmu_interrupt_read_mail() */
#endif
            if
            :: !live -> goto no_mail
            :: else
            fi;
            begin_handle(true);
            goes_to = END_HANDLE;
            if
            :: out != NONE -> goto plan
            :: else
            fi;
handled:
            end_handle(true);
#ifdef CLEAR_LATE
            mail = false;
#endif
#ifndef LOOK
            if
            :: in_handler -> goto finished
            :: else
            fi;
#endif
no_mail:
            if
            :: work_due ->
                plan_due();
                goes_to = END_SETTLE;
                if
                :: out != NONE -> goto plan
                :: else
                fi
            :: else
            fi;
settled:
#ifndef MAIL_FAULT
            if
            :: failed -> repair()
            :: else
            fi;
#endif
            acknowledge(running & ~sampling)
        :: !has_work || looks == LOOKS ->
            late = late || has_work;
            if
            :: stopped -> interrupt_end()
            :: else
            fi;
            busy = false;
            if
#ifdef LOOK
            :: true -> break
#else
            :: !mail && !failed -> break
            :: (mail || failed) && rounds < ROUNDS -> busy = true; rounds++; looks = 0
            :: (mail || failed) && rounds == ROUNDS -> /* upmu_interrupt_finish() */
                late = true;
                in_handler = true;
                goto read_mail;
finished:
                interrupt_end();
#ifndef FINISH_FAULT
                if
                :: failed -> repair()
                :: else
                fi;
#endif
                in_handler = false;
#ifndef FINISH_REARM
                armed = true;
#endif
                break
#endif
            fi
        od;
        atomic {
            assert(late || !mail);
            if
            :: !suspended -> check_quiet()
            :: else
            fi;
            out = NONE; in = NONE; to = 0; after = 0; e = 0; what = 0; now = 0; left_as = 0; ok = false; fine = false;
            before = 0; was = 0; rounds = 0; looks = 0; goes_to = 0
        }
    :: call > CALLS && !runs(A) && !runs(B) && !suspended && !asked && !late && !request && reads == READS -> break
    od;
    atomic {
        done = true;
        assert(!(enable & BOTH))
    }
}

#if READS
/*
 * upmu_set_read() on another CPU: of a session that runs or waits it asks the session's CPU; else it reads what is
 * stored.
 */
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
            :: runs(A) || state[A] == WAITING -> asked = true; (answered); answered = false; break
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
