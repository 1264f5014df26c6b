// SPDX-License-Identifier: MIT
//! The crate on the silicon model. Each test has a model of its own, and is the one thread that uses it.
#![deny(unsafe_op_in_unsafe_fn)]
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;
use upmu::sim::{Handler, Model, Work};
use upmu::*;

const BURST: Work = Work { instructions: 12000, cycles: 9000, branches: 2000, mispredicts: 31, ip: 0x1000, ip_step: 4 };

struct Host {
    port: Model,
    machine: Machine,
    cpus: [Cpu; 2],
}

/// The host's NMI entry.
fn entry(cpu: &'static Cpu, frame: &Frame) {
    // SAFETY: the model calls it where the interrupt of that CPU comes.
    assert_eq!(unsafe { cpu.interrupt(Some(frame)) }, Pmi::Handled);
}

/// A machine of the model Skylake, never freed, whose CPUs are initialised.
fn host(handler: Handler) -> &'static Host {
    let host: &'static Host =
        Box::leak(Box::new(Host { port: Model::new(), machine: Machine::new(), cpus: [Cpu::new(), Cpu::new()] }));
    // SAFETY: one test uses it, on its thread.
    unsafe { host.port.init("skl", &[&host.cpus[0], &host.cpus[1]], handler) }.unwrap();
    host.machine.init(&host.port).unwrap();
    for number in [1, 0] {
        host.port.switch_cpu(number);
        host.cpus[number as usize].init(&host.machine).unwrap();
    }
    host
}

fn values(counts: &[Count]) -> Vec<u64> {
    assert!(counts.iter().all(|count| count.quality() == Quality::Exact));
    counts.iter().map(|count| count.value).collect()
}

#[test]
fn a_region_counts_a_piece_of_code() {
    let host = host(entry);
    let region = Box::pin(Region::new());
    region.as_ref().open(&host.cpus[0], "instructions,cycles,branch-misses").unwrap();
    let mut counts = [Count::default(); 3];
    host.port.work(BURST);
    let answer = region.as_ref().measure(&mut counts, || {
        host.port.work(BURST);
        7
    });
    host.port.work(BURST);
    assert_eq!((answer, values(&counts)), (Ok(7), vec![12000, 9000, 31]));
    assert_eq!(region.as_ref().open(&host.cpus[0], "cycles"), Err(Error::State));
    region.as_ref().close().unwrap();
    region.as_ref().open(&host.cpus[0], "cycles").unwrap();
    drop(region);
    host.cpus[0].fini().unwrap();
}

#[test]
fn a_session_counts_a_cpu_and_is_closed_by_its_drop() {
    let host = host(entry);
    for _ in 0..40 {
        // More sessions than counters: each that is dropped has given its counters back.
        let session = Box::pin(Session::new());
        session.as_ref().open(&host.machine).unwrap();
        session.as_ref().add("instructions").unwrap();
        session.as_ref().add("cycles:u,cycles").unwrap();
        session.as_ref().attach_cpu(&host.cpus[0]).unwrap();
        session.as_ref().start().unwrap();
        assert_eq!(session.as_ref().state(), Ok(State::Running));
        host.port.work(BURST);
        session.as_ref().stop().unwrap();
        host.port.work(BURST);
        let mut counts = [Count::default(); 5];
        assert_eq!(session.as_ref().read(&mut counts), Ok(3));
        assert_eq!(values(&counts[..3]), [12000, 0, 9000]);
        assert_eq!(session.as_ref().read(&mut counts[..1]), Ok(1));
        session.as_ref().start().unwrap();
    }
    host.cpus[0].fini().unwrap();
}

#[test]
fn a_session_follows_its_thread_from_cpu_to_cpu() {
    let host = host(entry);
    let idle = [Box::pin(Thread::new(0, 0)), Box::pin(Thread::new(0, 1))];
    let (thread, other) = (Box::pin(Thread::new(1, 2)), Box::pin(Thread::new(1, 3)));
    let session = Box::pin(Session::new());
    session.as_ref().open(&host.machine).unwrap();
    session.as_ref().add("instructions,branch-misses").unwrap();
    // SAFETY: the thread does not run.
    unsafe { session.as_ref().attach_thread(thread.as_ref(), None) }.unwrap();
    session.as_ref().start().unwrap();
    let switch = |number: usize, prev: &Pin<Box<Thread>>, next: &Pin<Box<Thread>>| {
        // SAFETY: this CPU executes, `prev` ran on it and `next` runs nowhere; the model has interrupts off in hooks.
        unsafe { host.cpus[number].switch(prev.as_ref(), next.as_ref()) }.unwrap();
        host.port.work(BURST);
    };
    switch(0, &idle[0], &other);
    switch(0, &other, &thread);
    switch(0, &thread, &idle[0]);
    host.port.switch_cpu(1);
    switch(1, &idle[1], &thread);
    let mut counts = [Count::default(); 2];
    session.as_ref().read(&mut counts).unwrap();
    assert_eq!(values(&counts), [24000, 62]);
    // From another CPU: by run_on_cpu.
    host.port.switch_cpu(0);
    session.as_ref().read(&mut counts).unwrap();
    assert_eq!(values(&counts), [24000, 62]);
    host.port.switch_cpu(1);
    switch(1, &thread, &idle[1]);
    thread.as_ref().exit().unwrap();
    drop(thread);
    assert_eq!(session.as_ref().state(), Ok(State::Detached));
    session.as_ref().read(&mut counts).unwrap();
    assert_eq!(values(&counts), [24000, 62]);
}

#[test]
fn host_and_guests_are_counted_apart() {
    let host = host(entry);
    let sessions = [World::Both, World::Host, World::Guest].map(|world| {
        let session = Box::pin(Session::new());
        session.as_ref().open(&host.machine).unwrap();
        session.as_ref().add("branch-misses").unwrap();
        session.as_ref().world(world).unwrap();
        session.as_ref().attach_cpu(&host.cpus[0]).unwrap();
        session.as_ref().start().unwrap();
        session
    });
    for _ in 0..2 {
        host.port.work(BURST);
        host.cpus[0].enter_guest().unwrap();
        host.port.work(BURST);
        host.port.work(BURST);
        host.cpus[0].leave_guest().unwrap();
    }
    let counts = sessions.map(|session| {
        let mut counts = [Count::default()];
        session.as_ref().read(&mut counts).unwrap();
        values(&counts)[0]
    });
    assert_eq!(counts, [6 * 31, 2 * 31, 4 * 31]);
}

#[test]
fn overflows_become_samples_in_a_ring() {
    static RING: RingMemory<64> = RingMemory::new();
    static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
    let host = host(|cpu, frame| {
        INTERRUPTS.fetch_add(1, Ordering::Relaxed);
        entry(cpu, frame);
    });
    let session = Box::pin(Session::new());
    session.as_ref().open(&host.machine).unwrap();
    session.as_ref().add_sampled("instructions", &Sampling::every(1000)).unwrap();
    session.as_ref().ring(&RING).unwrap();
    assert_eq!(session.as_ref().ring(&RING), Err(Error::State));
    session.as_ref().attach_cpu(&host.cpus[0]).unwrap();
    session.as_ref().start().unwrap();
    host.port.work(BURST);
    session.as_ref().stop().unwrap();
    let mut found = Vec::new();
    while let Some(sample) = session.as_ref().next_sample().unwrap() {
        assert_eq!((sample.events, sample.flags), (1, 2 * u16::from(sample.lost != 0)));
        found.push(sample.ip);
    }
    // 64 words are room for 10 of the 12 samples.
    let expected: Vec<u64> = (1..=found.len() as u64).map(|i| 0x1000 + 4 * 1000 * i).collect();
    assert_eq!(found, expected);
    assert_eq!((found.len() as u32 + session.as_ref().lost().unwrap(), INTERRUPTS.load(Ordering::Relaxed)), (12, 12));
    assert!(found.len() >= 8);
    // The memory is free again with the session, and only then.
    let next = Box::pin(Session::new());
    next.as_ref().open(&host.machine).unwrap();
    assert_eq!(next.as_ref().ring(&RING), Err(Error::State));
    drop(session);
    next.as_ref().ring(&RING).unwrap();
    static SMALL: RingMemory<8> = RingMemory::new();
    assert_eq!(next.as_ref().ring(&SMALL), Err(Error::Invalid));
}

#[test]
fn a_refusal_has_a_text() {
    let host = host(entry);
    let session = Box::pin(Session::new());
    assert_eq!(session.as_ref().add("cycles"), Err(Error::State));
    session.as_ref().open(&host.machine).unwrap();
    let error = session.as_ref().add("instrutions").unwrap_err();
    assert_eq!((error, error.to_string().as_str()), (Error::NoSuchEvent, "no such event"));
    let why = session.as_ref().why().unwrap().to_string();
    assert!(why.contains("instrutions") && why.contains("instructions"), "{why}");
    assert_eq!(session.as_ref().add("cyc\0les"), Err(Error::Syntax));
    assert_eq!(session.as_ref().add(&"cycles,".repeat(50)), Err(Error::NoSpace));
    assert_eq!(session.as_ref().add(""), Err(Error::Syntax));
    // A text of any length; bytes behind it are of none of these events.
    let list = format!("instructions{},cycles:no-such-attribute", " ".repeat(1000));
    assert_eq!(session.as_ref().add(&list[..1019]), Ok(()));
    assert_eq!(session.as_ref().add(&list), Err(Error::NoSuchAttribute));
    let too_many = "instructions,".repeat(EVENTS + 1);
    assert_eq!(session.as_ref().add(too_many.trim_end_matches(',')), Err(Error::NoSpace));
    let region = Box::pin(Region::new());
    assert!(region.as_ref().open(&host.cpus[0], "no-such").is_err());
    assert!(region.as_ref().why().unwrap().to_string().contains("no-such"));
    region.as_ref().open(&host.cpus[0], "cycles").unwrap();
    assert!(matches!(region.as_ref().why(), Err(Error::State)));
}

#[test]
fn every_error_has_a_text_of_its_own() {
    let mut texts: Vec<&str> = Error::ALL.iter().map(|error| error.text()).collect();
    texts.push(Error::Unknown(1000).text());
    assert!(texts.iter().all(|text| !text.is_empty()));
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), Error::ALL.len() + 1);
    // And C has no other status.
    let known = |status: u32| Error::ALL.iter().any(|error| error.status() == status);
    let unknown = Error::Unknown(1000).text();
    assert!((1..1000).all(|status| known(status) == (Error::Unknown(status).text() != unknown)));
}

#[test]
fn calls_in_a_wrong_order_or_place_are_refused() {
    let host = host(entry);
    assert_eq!(host.machine.init(&host.port), Err(Error::State));
    assert_eq!(host.cpus[0].init(&host.machine), Err(Error::State));
    assert_eq!(host.cpus[1].poll(), Err(Error::WrongCpu));
    assert_eq!(host.cpus[1].fini(), Err(Error::WrongCpu));
    let session = Box::pin(Session::new());
    let empty: &'static Machine = Box::leak(Box::new(Machine::new()));
    assert_eq!(session.as_ref().open(empty), Err(Error::State));
    session.as_ref().open(&host.machine).unwrap();
    assert_eq!(session.as_ref().open(&host.machine), Err(Error::State));
    session.as_ref().add("cycles").unwrap();
    assert_eq!(session.as_ref().start(), Err(Error::State));
    let cold: &'static Cpu = Box::leak(Box::new(Cpu::new()));
    assert_eq!(session.as_ref().attach_cpu(cold), Err(Error::NoPmu));
    assert_eq!(cold.init(&host.machine), Err(Error::WrongCpu));
    assert_eq!(cold.init(empty), Err(Error::State));
    host.cpus[0].fini().unwrap();
    assert_eq!((host.cpus[0].tick(), host.cpus[0].resume()), (Ok(()), Err(Error::NoPmu)));
    host.cpus[0].init(&host.machine).unwrap();
    session.as_ref().attach_cpu(&host.cpus[0]).unwrap();
    host.cpus[0].suspend().unwrap();
    host.cpus[0].resume().unwrap();
    session.as_ref().start().unwrap();
    host.port.work(BURST);
    host.cpus[0].tick().unwrap();
    host.cpus[0].changed().unwrap();
    session.as_ref().close().unwrap();
    assert_eq!(session.as_ref().start(), Err(Error::State));
    session.as_ref().open(&host.machine).unwrap();
}

#[test]
fn a_machine_of_other_cpus_is_refused() {
    let (host, other) = (host(entry), host(entry));
    let session = Box::pin(Session::new());
    session.as_ref().open(&host.machine).unwrap();
    session.as_ref().add("cycles").unwrap();
    assert_eq!(session.as_ref().attach_cpu(&other.cpus[0]), Err(Error::Invalid));
    let thread = Box::pin(Thread::new(1, 1));
    // SAFETY: the other machine's CPU executes the thread, as far as that machine's model knows.
    let attached = unsafe { session.as_ref().attach_thread(thread.as_ref(), Some(&other.cpus[0])) };
    assert_eq!(attached, Err(Error::Invalid));
}

#[test]
fn a_cpu_is_initialised_for_one_machine_at_a_time() {
    static OTHER: Machine = Machine::new();
    static INSIDE: Mutex<Option<Result<(), Error>>> = Mutex::new(None);

    /// The model, whose WRMSR is where an NMI comes.
    struct Nested(Model, Cpu);
    static NESTED: Nested = Nested(Model::new(), Cpu::new());
    static MACHINE: Machine = Machine::new();
    // SAFETY: the model's functions are right.
    unsafe impl Port for Nested {
        const FAULTS_ARE_SAFE: bool = true;
        unsafe fn rdmsr(&self, msr: u32) -> Option<u64> {
            // SAFETY: the library reads.
            unsafe { self.0.rdmsr(msr) }
        }
        unsafe fn wrmsr(&self, msr: u32, value: u64) -> bool {
            let mut inside = INSIDE.lock().unwrap();
            if inside.is_none() {
                *inside = Some(NESTED.1.init(&OTHER));
            }
            // SAFETY: the library writes.
            unsafe { self.0.wrmsr(msr, value) }
        }
        fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
            self.0.cpuid(leaf, subleaf)
        }
        fn this_cpu(&self) -> Option<&'static Cpu> {
            self.0.this_cpu()
        }
        fn irq_save(&self) -> usize {
            self.0.irq_save()
        }
        unsafe fn irq_restore(&self, state: usize) {
            // SAFETY: it is of the model's irq_save.
            unsafe { self.0.irq_restore(state) }
        }
    }

    // SAFETY: this test uses it, on its thread.
    unsafe { NESTED.0.init("skl", &[&NESTED.1], entry) }.unwrap();
    MACHINE.init(&NESTED).unwrap();
    OTHER.init(&NESTED.0).unwrap();
    NESTED.1.init(&MACHINE).unwrap();
    assert_eq!(*INSIDE.lock().unwrap(), Some(Err(Error::Busy)));
    assert_eq!(NESTED.1.init(&OTHER), Err(Error::State));
    NESTED.1.fini().unwrap();
}

#[test]
fn a_handler_may_read_the_ring_of_its_session() {
    static SESSION: Session = Session::new();
    static RING: RingMemory<512> = RingMemory::new();
    static SEEN: AtomicU32 = AtomicU32::new(0);
    let host = host(|cpu, frame| {
        entry(cpu, frame);
        while let Ok(Some(_)) = Pin::static_ref(&SESSION).next_sample() {
            SEEN.fetch_add(1, Ordering::Relaxed);
        }
    });
    let session = Pin::static_ref(&SESSION);
    session.open(&host.machine).unwrap();
    session.add_sampled("cycles", &Sampling::every(3000)).unwrap();
    session.ring(&RING).unwrap();
    session.attach_cpu(&host.cpus[0]).unwrap();
    session.start().unwrap();
    host.port.work(BURST);
    session.close().unwrap();
    assert_eq!(SEEN.load(Ordering::Relaxed), 3);
}

#[test]
fn a_panic_in_measured_code_leaves_the_region_usable() {
    let host = host(entry);
    let region = Box::pin(Region::new());
    region.as_ref().open(&host.cpus[0], "instructions").unwrap();
    let mut counts = [Count::default()];
    let work = AssertUnwindSafe(|| region.as_ref().measure(&mut counts, || panic!("of the measured code")));
    assert!(catch_unwind(work).is_err());
    region.as_ref().measure(&mut counts, || host.port.work(BURST)).unwrap();
    assert_eq!(values(&counts), [12000]);
}

/// A kernel's port with the functions that must be there and no others, in front of the model.
struct Small {
    model: Model,
    written: AtomicU32,
}

// SAFETY: the model's functions are right.
unsafe impl Port for Small {
    const FAULTS_ARE_SAFE: bool = true;

    unsafe fn rdmsr(&self, msr: u32) -> Option<u64> {
        // SAFETY: the library reads.
        unsafe { self.model.rdmsr(msr) }
    }
    unsafe fn wrmsr(&self, msr: u32, value: u64) -> bool {
        self.written.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the library writes.
        unsafe { self.model.wrmsr(msr, value) }
    }
    fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        self.model.cpuid(leaf, subleaf)
    }
    fn this_cpu(&self) -> Option<&'static Cpu> {
        self.model.this_cpu()
    }
    fn irq_save(&self) -> usize {
        self.model.irq_save()
    }
    unsafe fn irq_restore(&self, state: usize) {
        // SAFETY: it is of the model's irq_save.
        unsafe { self.model.irq_restore(state) }
    }
}

static SMALL: Small = Small { model: Model::new(), written: AtomicU32::new(0) };
static SMALL_MACHINE: Machine = Machine::new();
static SMALL_CPUS: [Cpu; 2] = [Cpu::new(), Cpu::new()];

fn small() {
    // SAFETY: the only caller that goes on is one test; the other one is a process of its own.
    unsafe { SMALL.model.init("skl", &[&SMALL_CPUS[0], &SMALL_CPUS[1]], entry) }.unwrap();
    SMALL_MACHINE.init(&SMALL).unwrap();
    SMALL_CPUS[0].init(&SMALL_MACHINE).unwrap();
}

#[test]
fn a_port_of_six_functions_counts_and_cannot_sample() {
    small();
    let region = Box::pin(Region::new());
    region.as_ref().open(&SMALL_CPUS[0], "instructions,cycles,branch-misses").unwrap();
    let mut counts = [Count::default(); 3];
    region.as_ref().measure(&mut counts, || SMALL.model.work(BURST)).unwrap();
    assert_eq!(values(&counts), [12000, 9000, 31]);
    assert!(SMALL.written.load(Ordering::Relaxed) > 0);
    let session = Box::pin(Session::new());
    session.as_ref().open(&SMALL_MACHINE).unwrap();
    assert_eq!(session.as_ref().add_sampled("cycles", &Sampling::every(1000)), Err(Error::HookMissing));
    let wrong: &'static Cpu = &SMALL_CPUS[1];
    assert_eq!(wrong.init(&SMALL_MACHINE), Err(Error::WrongCpu));
}

#[test]
#[ignore = "it ends its process: a_session_dropped_on_another_cpu_ends_the_program runs it"]
fn drop_on_another_cpu() {
    small();
    let session = Box::pin(Session::new());
    session.as_ref().open(&SMALL_MACHINE).unwrap();
    session.as_ref().add("cycles").unwrap();
    session.as_ref().attach_cpu(&SMALL_CPUS[0]).unwrap();
    session.as_ref().start().unwrap();
    SMALL.model.switch_cpu(1);
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
    println!("the memory is gone, and the library uses it");
}

#[test]
fn a_session_dropped_on_another_cpu_ends_the_program() {
    let program = std::env::current_exe().unwrap();
    let words = ["--ignored", "--exact", "drop_on_another_cpu", "--nocapture"];
    let done = std::process::Command::new(program).args(words).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code().is_none(), "it went on: {text}");
    assert!(text.contains("dropped on another CPU") && !text.contains("memory is gone"), "{text}");
}
