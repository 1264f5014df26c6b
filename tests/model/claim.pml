/* SPDX-License-Identifier: MIT */
/*
 * Two CPUs share a register: claims by compare-and-swap (README.md, "claim.pml").
 *
 * A session needs a value in the shared register; sessions of both CPUs may run if they need the same value.  Some
 * sessions need a second resource, which one CPU has at a time.  A start whose value is not that of the session
 * that runs moves that session to another register first.  upmu_plan_in() claims; a plan may be dropped after
 * that.  The end of the bracket parks.  A handler outside of a bracket may exchange the set that needs the
 * register for one that needs nothing.  It does not put it on again: that would be a claim.  Each inline names the
 * function that it is a model of.
 */
#ifndef CALLS
#define CALLS 3 /* for each CPU */
#endif
#ifndef HANDLERS
#define HANDLERS 1 /* plans of handlers, for each CPU */
#endif

#define NONE 2
#define UNKNOWN 0   /* values are 1 and 2 */
#define me (1 << c)

/* The shared register, and what a session on it counts by. */
byte shared_register = 1;
byte counts_by[2];      /* value that the running session of a CPU needs, or 0: nothing runs there */

/*
 * The register's claim word, changed by compare-and-swap: the CPUs that hold it, whether its only holder is about to
 * change the value, whether that one needs it no more (any other may take it), and a number that differs after each
 * change of the value.  The value has two halves.
 */
byte holders;
bool changing, parked;
byte generation;
byte low, high;
byte second = NONE;     /* CPU that holds the second resource */

byte calls_done;

#ifdef GENERATION
#define is_unchanged (had == holders && was_changing == changing && was_parked == parked)
#else
#define is_unchanged (had == holders && was_changing == changing && was_parked == parked && was == generation)
#endif

/* upmu_domain_settle(): the value is stored by the only holder, before the word says that it is there. */
inline settle(new)
{
    if
    :: changing && (holders & me) ->
#ifdef HALVES
        d_step { changing = false; generation++ };
        low = new;
        high = new
#else
        low = new;
        high = new;
        d_step { changing = false; generation++ }
#endif
    :: else
    fi
}

/* claim_one(), upmu_domain_claim(), forget_claim() */
inline claim_register()
{
    d_step {
        had = holders; was_changing = changing; was_parked = parked; was = generation;
        others = (!was_parked && (had & ~me));
        used = (!was_parked && had == me);
        if
        :: !was_parked && (had & me) && low == value && high == value -> same = true
        :: was_changing && !used -> lost = true
        :: else
        fi
    };
    if
    :: others && !lost ->
        lost = (high != value);
        lost = (lost || low != value)
    :: else
    fi;
    if
    :: !same && !lost ->
        d_step {
            if
            :: !is_unchanged -> lost = true
            :: is_unchanged && others -> holders = holders | me; fresh = !(had & me)
            :: else -> holders = me; parked = false; changing = true; fresh = !(had & me)
            fi
        };
#ifdef J1
        if
        :: !lost && !others -> settle(value)
#else
        if
        :: !lost && !others && !used -> settle(value)
#endif
        :: else
        fi
    :: else
    fi;
    d_step {
#ifndef KNOWN
        if
        :: fresh -> shadow = UNKNOWN
        :: else
        fi;
#endif
        fresh = false; same = false; others = false; used = false;
        had = 0; was = 0; was_changing = false; was_parked = false
    }
}

inline claim_second()
{
    d_step {
        if
        :: second == NONE || second == c -> second = c
        :: else -> lost = true
        fi
    }
}

/* upmu_domain_park(): the last holder's bit stays: a register that no other takes is as that one has left it. */
inline park()
{
    do
    ::  d_step { had = holders; was_changing = changing; was_parked = parked; was = generation };
        d_step {
            if
            :: !(had & me) || was_parked -> same = true
            :: (had & me) && !was_parked && is_unchanged && !(holders & ~me) ->
                changing = false;
                parked = true;
                same = true
            :: (had & me) && !was_parked && is_unchanged && (holders & ~me) -> holders = holders & ~me; same = true
            :: else
            fi;
            had = 0; was = 0; was_changing = false; was_parked = false
        };
        if
        :: same -> same = false; break
        :: else
        fi
    od
}

/* upmu_claims_trim(), at a bracket's end: claims become those of what runs. */
inline trim()
{
    if
    :: counts_by[c] -> settle(counts_by[c])
    :: else -> park()
    fi;
    atomic {
        if
        :: second == c && !has_second -> second = NONE
        :: else
        fi
    }
}

/* compare_program() of plan.c */
inline plan()
{
    changed = (shadow != value)
}

/* A bracket with a plan: upmu_claims_take_set(), upmu_reconcile(), upmu_bracket_leave() */
inline start()
{
#ifdef I11
    plan();
#endif
    claim_register();
    if
    :: !lost && wants_second -> claim_second()
    :: else
    fi;
    if
    :: !lost -> lost = true /* the plan is dropped: a later session of it does not fit */
    :: true
    fi;
    if
    :: !lost ->
#ifndef I11
        plan();
#endif
        counts_by[c] = 0; /* what ran there is closed and goes on elsewhere */
        if
        :: changed ->
            shadow = value;
            atomic {
                assert(counts_by[1 - c] == 0 || counts_by[1 - c] == value);
                shared_register = value
            }
        :: else
        fi;
        has_second = wants_second;
        atomic { assert(shared_register == value); counts_by[c] = value }
    :: else
    fi;
#ifdef DROP
    if
    :: lost
    :: else -> trim()
    fi
#else
    trim()
#endif
}

/* What a CPU claims is needed by a session that runs there, or by a bracket that is to come. */
inline check_claims()
{
    atomic {
        assert(parked || !(holders & me) || counts_by[c] || park_due);
        assert(second != c || has_second || park_due);
        assert(!changing || !(holders & me))
    }
}

/*
 * upmu_reconcile_due() in a handler: the set that needs the register leaves.  As it is due again,
 * upmu_claims_take_set() refuses it, also where this CPU still holds the claim: its session waits for a bracket.
 */
inline handler_plan()
{
    if
    :: counts_by[c] ->
        own = counts_by[c];
        counts_by[c] = 0;
        own_second = has_second;
        has_second = false;
        park_due = true
    :: else ->
#ifdef HANDLER_CLAIMS
        value = own;
        claim_register(); /* the plan is dropped */
        park_due = false;
#endif
#ifdef HANDLER_USES
        atomic { assert(shared_register == own); counts_by[c] = own };
        has_second = own_second;
#endif
        atomic { own = 0; own_second = false; value = 0; lost = false }
    fi
}

proctype Cpu(byte c)
{
    byte calls, value, shadow = UNKNOWN;
    byte had, was;
    bool was_changing, was_parked, others, used, same;
    bool wants_second, has_second, changed, fresh, lost;
    byte handlers, own;             /* value that the set needs which a handler took off */
    bool own_second, park_due;

    do
    :: handlers < HANDLERS && (counts_by[c] || own) -> handlers++; handler_plan(); check_claims()
    :: calls < CALLS ->
        atomic {
            calls++;
            if
            :: value = 1
            :: value = 2
            :: counts_by[c] -> value = 0
            :: own -> value = 0 /* a tick */
            fi;
            if
            :: value -> wants_second = true
            :: true
            fi
        };
        if
        :: value -> start()
        :: else ->
            counts_by[c] = 0;
            has_second = false;
            trim()
        fi;
        park_due = false;
        check_claims();
#ifndef HANDLER_USES
        own = 0;
#endif
        atomic { value = 0; own_second = false; wants_second = false; changed = false; lost = false }
    :: else -> break
    od;
    counts_by[c] = 0;
    has_second = false;
    trim();
    atomic {
        calls_done++;
        /* Nothing stays claimed. */
        assert(calls_done < 2 || ((holders == 0 || parked) && second == NONE && !changing))
    }
}

init
{
    atomic { run Cpu(0); run Cpu(1) }
}
