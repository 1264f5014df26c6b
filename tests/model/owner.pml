/* SPDX-License-Identifier: MIT */
/*
 * A thread that moves between two CPUs while another CPU writes to its session (README.md, "owner.pml").
 *
 * The thread's session runs where the thread runs.  `owner` names the CPU that may use the thread's sessions.  A CPU takes
 * it by compare-and-swap and never waits: a thread that is still owned comes late, with the next tick.
 */
#ifndef SWITCHES
#define SWITCHES 2 /* times that the thread is switched to */
#endif
#ifndef CALLS
#define CALLS 1    /* calls of a controller on a third CPU */
#endif
#ifndef READS
#define READS 1    /* reads from there */
#endif
#ifndef TICKS
#define TICKS 2    /* events */
#endif

#define NONE 2
#define CONTROLLER 3 /* as an owner */

/* Hardware: a counter for each CPU. */
bool enable[2];
byte value[2];

/* The CPUs: the session on their counter, the thread that they switched to. */
bool slot[2], current[2];
bool late_here[2];          /* the thread comes with the next tick */
#ifdef LATE_SHARED
#define late_on(c) late_here[0] /* a field of the thread */
#else
#define late_on(c) late_here[c]
#endif

/* The thread. */
byte owner = NONE;
bool queued = true;         /* its session is in its queue of started sessions without counters */

/* The session. */
bool is_running;
byte total, base, sequence;

/* The host and the checks. */
byte runs_on = NONE, switches;
byte user = NONE;           /* CPU that is writing the session */
byte happened;              /* events that an enabled counter saw since the session was last cleared */
byte moment_total, moment_time;
byte finished;

active proctype Events()
{
    byte ticks;

end:
    do
    ::  d_step { ticks < TICKS && (enable[0] || enable[1]) ->
            ticks++;
            if
            :: enable[0] -> value[0]++; happened++
            :: else
            fi;
            if
            :: enable[1] -> value[1]++; happened++
            :: else
            fi
        }
    od
}

/* A session's fields are written by one CPU at a time. */
inline use(c)
{
    d_step { assert(user == NONE); user = c }
}

inline release_use()
{
    user = NONE
}

/* The thread's session comes.  `owner` is this CPU. */
inline come()
{
    if
    :: queued ->
        use(c);
        sequence++;
        base = value[c];
        d_step { is_running = true; queued = false };
        sequence++;
        release_use();
        slot[c] = true;
        enable[c] = true
    :: else
    fi
}

inline take_owner()
{
#ifdef SWAP
    got = (owner == NONE);
    if
    :: got -> owner = c
    :: else
    fi
#else
    d_step {
        got = (owner == NONE);
        owner = (got -> c : owner)
    }
#endif
}

inline switch_in()
{
    take_owner();
    if
    :: got -> come()
#ifndef LATE
    :: else -> late_on(c) = true
#else
    :: else
#endif
    fi;
    current[c] = true
}

inline switch_out()
{
#ifdef RELEASE_FIRST
    if
    :: owner == c -> owner = NONE
    :: else
    fi;
#endif
    if
    :: slot[c] ->
        enable[c] = false;
        use(c);
        sequence++;
        d_step { total = total + value[c] - base; moment_total++ };
        d_step { moment_time++; base = value[c] };
        is_running = false;
        sequence++;
#ifndef QUEUE
        queued = true;
#endif
        release_use();
        slot[c] = false
    :: else
    fi;
    current[c] = false;
    late_on(c) = false;
    if
#ifdef RELEASE
    :: true -> owner = NONE
#else
    :: owner == c -> owner = NONE
#endif
    :: else
    fi
}

inline tick()
{
    if
    :: current[c] && late_on(c) ->
        take_owner();
        if
        :: got -> late_on(c) = false; come()
        :: else
        fi
    :: else
    fi
}

/* Where the thread runs and is not late, its session counts. */
inline check_counts_here()
{
    assert(late_on(c) || (is_running && slot[c] && enable[c] && owner == c))
}

proctype Cpu(byte c)
{
    bool got;

    do
    ::  atomic { runs_on == NONE && switches < SWITCHES -> runs_on = c; switches++ };
        switch_in();
        atomic { check_counts_here() };
        do
        :: late_on(c) && owner == NONE -> tick(); check_counts_here()
        ::  atomic {
                !late_on(c) || switches < SWITCHES;
                /* The host may run the thread elsewhere before the switch of this CPU has ended. */
                runs_on = NONE
            };
            break
        od;
        switch_out();
        got = false
    :: runs_on == NONE && switches == SWITCHES -> break
    od;
    finished++
}

/* A call from a CPU where the thread does not run, for example one that clears the session's counts. */
inline call_elsewhere()
{
    d_step {
        got = (owner == NONE);
        owner = (got -> CONTROLLER : owner)
    };
    if
    :: got ->
        use(CONTROLLER);
        sequence++;
        d_step { assert(!is_running); total = 0; happened = 0; moment_total++ };
        moment_time++;
        sequence++;
        release_use();
        owner = NONE
    :: else /* UPMU_ERR_BUSY or a call on the CPU that owns the thread */
    fi
}

/* A read from there: of a session that runs its CPU would be asked. */
inline read_elsewhere()
{
    do
    ::  atomic { sequence % 2 == 0 -> before = sequence };
        if
        :: is_running -> break
        :: else ->
            counts = moment_total;
            times = moment_time;
            if
#ifdef END
            :: true ->
#else
            :: before == sequence ->
#endif
                assert(counts == times);
                break
            :: else
            fi
        fi
    od
}

proctype Controller()
{
    byte calls, reads, before, counts, times;
    bool got;

    do
    :: calls < CALLS -> calls++; call_elsewhere()
    :: reads < READS -> reads++; read_elsewhere(); atomic { before = 0; counts = 0; times = 0 }
    :: calls == CALLS && reads == READS -> break
    od;
    finished++
}

init
{
    atomic { run Cpu(0); run Cpu(1); run Controller() };
    atomic {
        finished == 3 ->
        /* The session waits in its thread's queue, and all counts are in it. */
        assert(owner == NONE && !late_here[0] && !late_here[1] && !enable[0] && !enable[1] && !is_running && queued);
        assert(total == happened)
    }
}
