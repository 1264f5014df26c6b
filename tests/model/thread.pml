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

#ifndef OWNERS
#define OWNERS 2   /* owners that ever do anything */
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
byte known_on = NONE;           /* thread->cpu: its switch away is seen; that CPU alone changes this */

/* The CPUs: is the thread their `current`? */
bool current[2];

/* Sessions. */
byte next_of_thread[2] = NONE;
bool has_thread[2] = true;      /* session->thread */
bool held[2];
byte cpu_of[2] = NONE;          /* session->meter */
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

/* upmu_thread_hold(): a word that is taken by exchange, never waited for. */
inline take_list(out)
{
    atomic { out = !list_held; list_held = true }
}

inline release_list()
{
    list_held = false
}

/* upmu_session_end(): the last thing that is stored in a session. */
inline end_session(s)
{
#ifdef H6
    closed[s] = true;
    touch(s) /* its page and its format are given up */
#else
    d_step { touch(s); closed[s] = true }
#endif
}

/* upmu_thread_forget(): the list is held. */
inline forget(s)
{
    d_step { touch(s); link = next_of_thread[s] };
    if
    :: first == s -> first = link
    :: else -> d_step { touch(1 - s); next_of_thread[1 - s] = link }
    fi;
    d_step { next_of_thread[s] = NONE; has_thread[s] = false }
}

/* upmu_session_untie(): it has no target any more, and without an owner no future. */
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

/* call_without_cpu() of session.c, detach_work(): session->meter is NULL. */
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

/* upmu_thread_join() */
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
            held[s] = false
        :: else /* it joins with the next tick */
        fi
    :: else
    fi
}

/*
 * set_current() of thread.c: the thread runs here, if it has sessions: its last may leave at any moment where the list is
 * not held.
 */
inline come()
{
    d_step {
        if
        :: first != NONE -> current[c] = true; known_on = c
        :: else
        fi
    }
}

/* The thread runs here no longer. */
inline go()
{
    d_step { current[c] = false; known_on = NONE }
}

/* What handlers find of those in the CPU's list: step 6 of their plan. */
inline own_all(found)
{
    d_step {
        if
        :: listed(c, 0) -> touch(0); owns(c, 0) = found
        :: else
        fi;
        if
        :: listed(c, 1) -> touch(1); owns(c, 1) = found
        :: else
        fi
    }
}

/* upmu_session_unlink() */
inline unlink_here(s)
{
    d_step { touch(s); listed(c, s) = false };
    cpu_of[s] = NONE /* from here on another CPU may detach it */
}

/* upmu_session_halt(), upmu_session_unlink() */
inline leave_list(s)
{
#ifdef H3
    unlink_here(s);
    owns(c, s) = false
#else
    d_step { touch(s); owns(c, s) = false };
    unlink_here(s)
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

/*
 * exchange_threads(), to this thread.  Where something else holds the list, its sessions join with the first tick:
 * `first` is only asked whether it is empty.
 */
inline switch_to()
{
#ifdef H5
    join_all();
    come();
    own_all(true)
#else
    take_list(got);
    if
    :: got ->
        take_dropped();
        join_all();
        come();
        own_all(true);
        release_list();
        bury()
    :: else -> come()
    fi
#endif
}

/*
 * exchange_threads(), from this thread: its sessions leave the counters by a plan; then unlink_all() takes them from
 * the CPU, by the thread's list, or by the CPU's list where something else holds the thread's.
 */
inline switch_away()
{
    current[c] = false;
#ifndef H3
    own_all(false);
#endif
    if
    :: first == NONE -> known_on = NONE
    :: else ->
        take_list(got);
        if
        :: listed(c, 0) -> unlink_here(0)
        :: else
        fi;
        if
        :: listed(c, 1) -> unlink_here(1)
        :: else
        fi;
        known_on = NONE;
        if
        :: got -> take_dropped(); release_list(); bury()
        :: else
        fi
    fi
#ifdef H3
    ;
    own_all(false)
#endif
}

/* upmu_waiting_tick(): join_current(), bury_zombies().  Sessions that a call held join; what has no owner leaves. */
inline tick()
{
    if
    :: current[c] ->
        take_list(got);
        if
        :: got -> join_all(); release_list()
        :: else
        fi;
        own_all(true)
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

/* upmu_session_leave() */
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

/*
 * upmu_thread_exit(): the thread ends here, and its sessions are detached.  The list is held, so no other call frees
 * one meanwhile.
 */
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
        :: got && first == NONE ->
#ifndef ENDS
            go();
#endif
            release_list();
            break
        :: !got -> (!list_held)
        fi
    od;
    walk = NONE;
    /* The thread's memory is given away. */
    assert(!current[0] && !current[1] && known_on == NONE)
}

proctype Cpu(byte c)
{
    byte walk = NONE, follow = NONE, link, buried, status, s;
    bool got, was, ends;

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
       if /* upmu_thread_switch() */
       :: first == NONE /* not seen */
       :: first != NONE -> switch_to()
       fi
    :: runs_on == c && (waits(0) || waits(1)) ->
       tick()
    :: runs_on == c && switches < SWITCHES ->
       if
#ifdef SEEN
       :: first == NONE
       :: first != NONE -> switch_away()
#else
       :: known_on == NONE
       :: known_on != NONE -> switch_away()
#endif
       fi;
       /* From now on the thread may end elsewhere, and what a tick here finds of it would be freed. */
       atomic { assert(!current[c] && known_on == NONE); runs_on = NONE }
#if EXITS
    :: atomic { (runs_on == c || runs_on == NONE) && first != NONE -> runs_on = EXITED };
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
        if
        :: OWNERS > 1 -> run Owner(0, DROPS > 1)
        :: else
        fi;
        run Owner(1, DROPS > 0)
    }
}
