/* SPDX-License-Identifier: MIT */
/*
 * A count is read from another CPU while its thread moves between two CPUs (README.md, "read.pml").  Each inline
 * names the function that it is a model of.
 *
 * The session has two counts of one event, so both are equal at each moment.  It counts where its thread runs.
 * The reader is a third CPU: it asks the CPU where the session runs or waits, and reads what is stored where it is
 * nowhere.
 */
#ifndef SWITCHES
#define SWITCHES 2 /* times that the thread is switched to */
#endif
#ifndef READS
#define READS 1
#endif
#ifndef TICKS
#define TICKS 2 /* events */
#endif
#define FOLLOW 4 /* READ_FOLLOW */

#define NONE 2

/* Hardware: a counter for each CPU. */
bool enable[2];
byte value[2];

/* The session: struct upmu_session, its tally. */
byte meter = NONE;          /* CPU in whose list it is */
bool is_running, is_stopped; /* its state; neither: it waits */
byte sequence, total, base;
byte ran;                   /* its time: one for each event */

/* The host and the checks. */
byte runs_on = NONE, switches;
byte happened;              /* events that an enabled counter saw */
byte asked = NONE;          /* the reader asks that CPU: port_run_on_cpu() */
bool answered, found;
byte result, least;

active proctype Events()
{
    byte ticks;

end:
    do
    ::  d_step { ticks < TICKS && (enable[0] || enable[1]) ->
            ticks++;
            assert(!(enable[0] && enable[1]));
            if
            :: enable[0] -> value[0]++
            :: else -> value[1]++
            fi;
            happened++
        }
    od
}

/* exchange_threads(), to the thread: upmu_session_link(), load_part(), open_parts() */
inline switch_to()
{
#ifndef SEQUENCE
    sequence = sequence + 2;
#endif
    meter = c;
    if
    :: !is_stopped ->
#ifndef SEQUENCE
        sequence++;
#endif
        base = value[c];
        is_running = true;
#ifndef SEQUENCE
        sequence++;
#endif
        enable[c] = true
    :: else
    fi
}

/* exchange_threads(), from the thread: close_counters(), take_part(), upmu_session_unlink() */
inline switch_away()
{
    if
    :: is_running ->
        enable[c] = false;
#ifndef SEQUENCE
        sequence++;
#endif
        total = total + value[c] - base;
        base = value[c];
        ran = total;
        is_running = false;
#ifndef SEQUENCE
        sequence++
#endif
    :: else
    fi;
    meter = NONE
}

/* The session is stopped where it runs: upmu_session_halt().  It stays in the list of its CPU. */
inline stop()
{
    enable[c] = false;
#ifndef SEQUENCE
    sequence++;
#endif
    total = total + value[c] - base;
    base = value[c];
    ran = total;
    d_step { is_running = false; is_stopped = true }
#ifndef SEQUENCE
    ; sequence++
#endif
}

/* read_counts() where the session is, with interrupts off: a switch is not between. */
inline answer_here()
{
    d_step {
        found = (meter == c && !is_stopped);
        if
        :: found && is_running -> result = total + value[c] - base
        :: found && !is_running -> result = total
        :: else
        fi;
        answered = true;
        asked = NONE
    }
}

proctype Cpu(byte c)
{
    bool stops;

end:
    do
    ::  atomic { runs_on == NONE && switches < SWITCHES -> runs_on = c; switches++ };
        switch_to()
    :: runs_on == c && is_running && !stops -> stops = true; stop()
    :: runs_on == c -> switch_away(); runs_on = NONE
    :: asked == c -> answer_here()
    od
}

/* upmu_set_read(), read_counts() */
active proctype Reader()
{
    byte reads, there, before, counts, times, attempts;
    bool occupies, waits;

    do
    :: reads < READS ->
        least = happened;
        attempts = 0;
again:
        before = sequence;
        there = meter;
        occupies = is_running;
        waits = !is_running && !is_stopped;
        if
        :: there != NONE && (occupies || waits) -> /* is_here() */
            asked = there;
            (answered);
            answered = false;
            if
            :: found -> assert(result >= least && result <= happened); goto done
            :: !found && attempts < FOLLOW -> attempts++; goto again
            :: !found && attempts == FOLLOW -> goto done /* UPMU_ERR_WRONG_CPU */
            fi
        :: else ->
            counts = total;
            times = ran;
            if
#ifdef END
            :: true ->
#else
            :: !(before & 1) && sequence == before && meter == there ->
#endif
                assert(counts >= least && counts <= happened);
                assert(counts == times) /* both are of one moment */
            :: else -> (!(sequence & 1)); goto again /* UPMU_ERR_BUSY after many attempts */
            fi
        fi;
done:
        atomic { reads++; before = 0; counts = 0; times = 0; result = 0; found = false; occupies = false;
        waits = false; there = 0 }
    :: else -> break
    od
}

init
{
    atomic { run Cpu(0); run Cpu(1) }
}
