/* SPDX-License-Identifier: MIT */
/*
 * Sessions of a thread that moves between two CPUs, while their owners detach them, close them and
 * free their memory (README.md, "thread.pml").
 *
 * Both sessions are attached to the thread.  Each has an owner that runs elsewhere.  An owner
 * closes its session until that succeeds, or drops it and waits for UPMU_SESSION_CLOSED; then the
 * memory is gone.
 */
#ifndef SWITCHES
#define SWITCHES 2 /* times that the thread is switched to */
#endif
#ifndef DROPS
#define DROPS 1    /* owners that may drop */
#endif

#ifndef EXITS
#define EXITS 0    /* the thread may end */
#endif

#define NONE 2
#define EXITED 3
#define CPUS 2
#define listed(c, s) in_list[2 * (c) + (s)]
#define owns(c, s) in_owner[2 * (c) + (s)]

/* The thread: its list of sessions and the word that guards the list. */
byte first = 0;
bool list_held;
byte runs_on = NONE;
byte switches;

/* Sessions. */
byte next_of_thread[2] = NONE;
bool has_thread[2] = true;      /* session->thread */
bool held[2];
byte cpu_of[2] = NONE;          /* session->cpu */
bool tied[2] = true, dropped[2];
bool closed[2];                 /* UPMU_SESSION_CLOSED is published */
bool freed[2];

/* The CPUs' lists, and what the handlers of a CPU find by its counters. */
bool in_list[4];
bool in_owner[4];

/* Calls on another CPU: at most one at a time for each CPU. */
#define DONE 0
#define BUSY 1
#define WRONG_CPU 2
byte asked[2] = NONE;           /* session to be detached there */
bool answered[2];
byte answer[2];

/* Every access to a session's memory. */
#define touch(s) assert(!freed[s])

/* A word that is taken by exchange, never waited for. */
inline take_list(out)
{
    atomic { out = !list_held; list_held = true }
}

inline release_list()
{
    list_held = false
}

/* The last thing that is stored in a session. */
inline end_session(s)
{
#ifdef H6
    closed[s] = true;
    touch(s) /* its page and its format are given up */
#else
    d_step { touch(s); closed[s] = true }
#endif
}

/* The list is held. */
inline forget(s)
{
    d_step { touch(s); link = next_of_thread[s] };
    if
    :: first == s -> first = link
    :: else -> d_step { touch(1 - s); next_of_thread[1 - s] = link }
    fi;
    d_step { next_of_thread[s] = NONE; has_thread[s] = false }
}

/* It has no target any more, and without an owner no future. */
inline let_go(s)
{
    forget(s);
    held[s] = false;
#ifdef TIES
    ends = dropped[s];
    tied[s] = false;
#else
    atomic { tied[s] = false; ends = dropped[s] };
#endif
    if
    :: ends -> end_session(s); ends = false
    :: else
    fi
}

/* ---- The owners ---- */

/* upmu_session_call() where session->cpu is NULL. */
inline detach_anywhere(s)
{
    d_step { touch(s); status = BUSY };
    if
    :: !tied[s] -> status = DONE
    :: tied[s] && !has_thread[s] /* it is being taken from its target */
    :: tied[s] && has_thread[s] ->
        atomic { was = held[s]; held[s] = true };
        if
        :: !was && !has_thread[s] -> held[s] = false
        :: !was && has_thread[s] && cpu_of[s] != NONE -> status = WRONG_CPU; held[s] = false
        :: !was && has_thread[s] && cpu_of[s] == NONE ->
#ifdef LIST
            let_go(s);
            status = DONE
#else
            take_list(got);
            if
            :: got -> let_go(s); release_list(); status = DONE
            :: else -> held[s] = false
            fi
#endif
        :: else
        fi
    fi
}

proctype Owner(byte s; bool may_drop)
{
    byte status, cpu, link;
    bool was, got, ends;

    do
    ::  d_step { touch(s); cpu = cpu_of[s] };
        if
        :: cpu == NONE -> detach_anywhere(s)
        :: else ->
            atomic { asked[cpu] == NONE -> asked[cpu] = s };
            atomic { answered[s] -> answered[s] = false; status = answer[s] }
        fi;
        if
        :: status == DONE -> break
        :: status == WRONG_CPU -> skip /* it is followed */
        :: status == BUSY -> (!held[s] && !list_held) /* the owner tries again later */
        :: status != DONE && may_drop ->
            /* It is the last to go, or what releases the target is. */
#ifdef TIES
            was = tied[s];
            dropped[s] = true;
#else
            atomic { was = tied[s]; dropped[s] = true };
#endif
            if
            :: was -> (closed[s]); goto gone
            :: else -> break
            fi
        fi
    od;
    end_session(s);
gone:
    /* UPMU_SESSION_CLOSED: the memory is the owner's from now on. */
    atomic {
        assert(!listed(0, s) && !listed(1, s) && first != s && next_of_thread[1 - s] != s && !held[s]);
        /* A handler may come at any moment. */
        assert(!owns(0, s) && !owns(1, s));
        freed[s] = true
    }
}

/* ---- The CPUs ---- */

/* A session that the next tick or switch ends: it has a thread and no owner, and no call holds it. */
#define waits(s) (has_thread[s] && dropped[s] && !held[s] && !list_held)

inline join(s)
{
    touch(s);
    if
    :: cpu_of[s] == NONE ->
        atomic { was = held[s]; held[s] = true };
        if
        :: !was ->
            d_step { touch(s); assert(!listed(1 - c, s)); listed(c, s) = true };
            cpu_of[s] = c;
            held[s] = false;
            owns(c, s) = true /* step 7 of its transition */
        :: else /* it joins with the next tick */
        fi
    :: else
    fi
}

inline leave_list(s)
{
    d_step { touch(s); listed(c, s) = false };
#ifdef H3
    cpu_of[s] = NONE;
    owns(c, s) = false
#else
    owns(c, s) = false;
    cpu_of[s] = NONE /* from here on another CPU may detach it */
#endif
}

/* Sessions without owner that are on no CPU leave the list, which is held; they end after it is released. */
inline take_dropped()
{
    walk = first;
    do
    :: walk != NONE ->
        d_step { touch(walk); follow = next_of_thread[walk] };
        if
        :: dropped[walk] && cpu_of[walk] == NONE ->
            forget(walk);
            buried = buried | (1 << walk)
        :: else
        fi;
        walk = follow
    :: else -> break
    od
}

inline bury()
{
    if
    :: buried & 1 -> end_session(0)
    :: else
    fi;
    if
    :: buried & 2 -> end_session(1)
    :: else
    fi;
    buried = 0
}

inline join_all()
{
    walk = first;
    do
    :: walk != NONE ->
        join(walk);
        d_step { touch(walk); walk = next_of_thread[walk] }
    :: else -> break
    od
}

/* Sessions that a switch has in its plan. */
inline put_in_list(s)
{
    if
    :: mine & (1 << s) -> d_step { touch(s); assert(!listed(1 - c, s)); cpu_of[s] = c; listed(c, s) = true }
    :: else
    fi
}

inline put_in_owner(s, found)
{
    if
    :: mine & (1 << s) -> d_step { touch(s); owns(c, s) = found }
    :: else
    fi
}

inline take_from_list(s)
{
    if
    :: mine & (1 << s) -> d_step { touch(s); listed(c, s) = false; cpu_of[s] = NONE }
    :: else
    fi
}

inline release(s)
{
    if
    :: mine & (1 << s) -> d_step { touch(s); held[s] = false }
    :: else
    fi
}

/*
 * A switch that is one transition: all sessions of the thread come, or all leave, and none needs anything else.  Else
 * it is left undone, and each session goes by itself.
 */
inline come_at_once()
{
    take_list(got);
    if
    :: got ->
        walk = first;
        do
        :: walk != NONE ->
            d_step {
                touch(walk);
                if
                :: !dropped[walk] && cpu_of[walk] == NONE && !held[walk] -> held[walk] = true; mine = mine | (1 << walk)
                :: else -> was = true /* a call works on it */
                fi;
                walk = next_of_thread[walk]
            }
        :: else -> break
        od;
        if
        :: !was && mine ->
            put_in_list(0);
            put_in_list(1);
            put_in_owner(0, true);
            put_in_owner(1, true);
            quick = true
        :: else
        fi;
        release(0);
        release(1);
        atomic { mine = 0; was = false; release_list() }
    :: else
    fi
}

inline leave_at_once()
{
    take_list(got);
    if
    :: got && first != NONE && (!listed(c, 0) || !dropped[0]) && (!listed(c, 1) || !dropped[1]) ->
        d_step {
            if
            :: listed(c, 0) -> mine = 1
            :: else
            fi;
            if
            :: listed(c, 1) -> mine = mine | 2
            :: else
            fi
        };
        if
        :: mine ->
            put_in_owner(0, false);
            put_in_owner(1, false);
            take_from_list(0);
            take_from_list(1);
            quick = true
        :: else
        fi;
        atomic { mine = 0; release_list() }
    :: got && !(first != NONE && (!listed(c, 0) || !dropped[0]) && (!listed(c, 1) || !dropped[1])) -> release_list()
    :: else
    fi
}

inline switch_to()
{
#ifdef H5
    join_all()
#else
    take_list(got);
    if
    :: got ->
        take_dropped();
        join_all();
        release_list();
        bury()
    :: else
    fi
#endif
}

inline switch_away()
{
    if
    :: listed(c, 0) -> leave_list(0)
    :: else
    fi;
    if
    :: listed(c, 1) -> leave_list(1)
    :: else
    fi;
    take_list(got);
    if
    :: got -> take_dropped(); release_list(); bury()
    :: else
    fi
}

/* The tick: sessions that a call held join; what has no owner leaves. */
inline tick()
{
    take_list(got);
    if
    :: got -> join_all(); release_list()
    :: else
    fi;
    if
    :: listed(c, 0) && dropped[0] -> detach_here(0)
    :: else
    fi;
    if
    :: listed(c, 1) && dropped[1] -> detach_here(1)
    :: else
    fi
}

inline detach_here(s)
{
    status = BUSY;
    take_list(got);
    if
    :: got ->
        atomic { was = held[s]; held[s] = true };
        if
        :: !was ->
            leave_list(s);
            let_go(s);
            status = DONE
        :: else
        fi;
        release_list()
    :: else
    fi
}

/* The thread ends here: its sessions are detached.  The list is held, so no other call frees one meanwhile. */
inline exit_thread()
{
    do
    ::  take_list(got);
        if
        :: got && first != NONE ->
            walk = first;
            d_step { touch(walk); was = held[walk]; held[walk] = true };
            if
            :: !was ->
                touch(walk);
                if
                :: listed(c, walk) -> leave_list(walk)
                :: else
                fi;
                let_go(walk);
                release_list()
            :: else ->
                release_list();
                /*
                 * UPMU_ERR_BUSY: the host tries again.  An owner takes held and then the list, this side takes the list
                 * and then held; so both may fail for as long as both try again in the same rhythm.
                 */
progress_exit:  (!held[walk])
            fi
        :: got && first == NONE -> release_list(); break
        :: !got -> (!list_held)
        fi
    od;
    walk = NONE
}

proctype Cpu(byte c)
{
    byte walk = NONE, follow = NONE, link, buried, status, s, mine;
    bool got, was, ends, quick;

end:
    do
    :: atomic { runs_on == NONE && (switches > 0 || c == 0) /* the first CPU is 0 */ &&
                (switches < SWITCHES || waits(0) || waits(1)) ->
           runs_on = c;
           if
           :: switches < SWITCHES -> switches++
           :: else
           fi
       };
       if
       :: come_at_once()
       :: true
       fi;
       if
       :: !quick -> switch_to()
       :: else -> quick = false
       fi
    :: runs_on == c && (waits(0) || waits(1)) ->
       tick()
    :: runs_on == c && switches < SWITCHES ->
       if
       :: leave_at_once()
       :: true
       fi;
       if
       :: !quick -> switch_away()
       :: else -> quick = false
       fi;
       runs_on = NONE
#if EXITS
    :: atomic { runs_on == c && first != NONE -> runs_on = EXITED };
       exit_thread()
#endif
    :: asked[c] != NONE ->
       /* Interrupts are on between calls: another CPU's call is served. */
       s = asked[c];
       touch(s);
       if
       :: cpu_of[s] != c -> status = WRONG_CPU
       :: else -> detach_here(s)
       fi;
       atomic { answer[s] = status; answered[s] = true; asked[c] = NONE }
    od
}

init
{
    atomic {
        next_of_thread[0] = 1;
        run Cpu(0);
        run Cpu(1);
        run Owner(0, DROPS > 1);
        run Owner(1, DROPS > 0)
    }
}
