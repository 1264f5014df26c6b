// SPDX-License-Identifier: MIT
//! upmu's calls as they are in C.  The crate `upmu` is the one for programs; this is what it stands on.
//!
//! The headers in `include/upmu` have the contract of each call.  Structures whose contents are the library's are
//! memory of C's size here.  Structures that a program fills in or reads are declared, and this crate does not
//! compile if the C compiler has another size for them, or another place for one of their fields.
#![no_std]
#![allow(non_camel_case_types)]
use core::ffi::c_void;
use core::mem::{align_of, size_of};

/// What the C compiler says: numbers, memory, places of fields.  build.rs writes it.
#[allow(non_upper_case_globals, missing_docs)]
pub mod layout {
    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}
pub use layout::{upmu_cpu, upmu_machine, upmu_place_work, upmu_region, upmu_session, upmu_thread, upmu_why};

/// An `enum upmu_status`, which has no negative values.
pub type upmu_status = u32;
const _: () = assert!(layout::STATUS_BYTES as usize == size_of::<upmu_status>(), "-fshort-enums is not supported");

#[allow(dead_code)] // rustc 1.63 does not see uses in `const _`
const fn rounded_up(at: usize, align: usize) -> usize {
    (at + align - 1) / align * align
}

/// A structure of C, and for each field the proof that it is where C has it.  A field of `#[repr(C)]` begins at the
/// first multiple of its alignment behind the field before it.
macro_rules! record {
    ($(#[$about:meta])* $name:ident, $of:ident { $(
        $(#[$told:meta])* $field:ident: $type:ty = $at:ident, $bytes:ident;
    )* }) => {
        $(#[$about])*
        #[repr(C)]
        pub struct $name { $($(#[$told])* pub $field: $type,)* }
        const _: () = {
            let (end, fields) = (0, 0);
            $(
                let at = rounded_up(end, align_of::<$type>());
                assert!(at == layout::$at, concat!(stringify!($name), ".", stringify!($field), " is elsewhere in C"));
                assert!(size_of::<$type>() == layout::$bytes, concat!(stringify!($field), " has another size in C"));
                let (end, fields) = (at + size_of::<$type>(), fields + 1);
            )*
            assert!(fields == layout::$of::FIELDS, concat!(stringify!($name), " lacks a field"));
            assert!(size_of::<$name>() == layout::$of::SIZE && align_of::<$name>() == layout::$of::ALIGN);
            assert!(rounded_up(end, align_of::<$name>()) == size_of::<$name>());
        };
    };
}

record! {
    /// One result (`upmu/upmu.h`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    upmu_count, of_upmu_count {
        /// Events, scaled where the quality says so.
        value: u64 = upmu_count_value_AT, upmu_count_value_BYTES;
        /// Events really counted.
        raw: u64 = upmu_count_raw_AT, upmu_count_raw_BYTES;
        /// The part of `value` that is uncertain; 0 of an exact count.
        error: u64 = upmu_count_error_AT, upmu_count_error_BYTES;
        /// Time between start and stop; 0 without a clock.
        enabled_ns: u64 = upmu_count_enabled_ns_AT, upmu_count_enabled_ns_BYTES;
        /// Of it, the time with a counter.
        running_ns: u64 = upmu_count_running_ns_AT, upmu_count_running_ns_BYTES;
        /// Of a sampled event: events until the next sample.
        left: u64 = upmu_count_left_AT, upmu_count_left_BYTES;
        /// Of a sampled event: the present period, with its random part.
        reset: u64 = upmu_count_reset_AT, upmu_count_reset_BYTES;
        /// How it was obtained, as a number.
        quality: u32 = upmu_count_quality_AT, upmu_count_quality_BYTES;
        /// Of a sampled event: periods that ended without a sample.
        lost: u32 = upmu_count_lost_AT, upmu_count_lost_BYTES;
    }
}
record! {
    /// What an interrupt interrupted (`upmu/port.h`).
    #[derive(Clone, Copy, Debug, Default)]
    upmu_frame, of_upmu_frame {
        /// Instruction pointer.
        ip: u64 = upmu_frame_ip_AT, upmu_frame_ip_BYTES;
        /// Stack pointer.
        sp: u64 = upmu_frame_sp_AT, upmu_frame_sp_BYTES;
        /// It was in user mode.
        user: bool = upmu_frame_user_AT, upmu_frame_user_BYTES;
        /// The host's number of the program, for messages.
        process: u32 = upmu_frame_process_AT, upmu_frame_process_BYTES;
        /// The host's number of the thread, for messages.
        thread: u32 = upmu_frame_thread_AT, upmu_frame_thread_BYTES;
        /// Frame pointer, or 0.
        fp: u64 = upmu_frame_fp_AT, upmu_frame_fp_BYTES;
        /// Registers, for formats of C; the library reads none.
        registers: Option<core::ptr::NonNull<u64>> = upmu_frame_registers_AT, upmu_frame_registers_BYTES;
        /// Which registers there are.
        register_mask: u64 = upmu_frame_register_mask_AT, upmu_frame_register_mask_BYTES;
    }
}
record! {
    /// Sampling attributes of one event (`upmu/upmu.h`).
    #[derive(Clone, Copy, Debug, Default)]
    upmu_sampling, of_upmu_sampling {
        period: u64 = upmu_sampling_period_AT, upmu_sampling_period_BYTES;
        event_id: u64 = upmu_sampling_event_id_AT, upmu_sampling_event_id_BYTES;
        values: u32 = upmu_sampling_values_AT, upmu_sampling_values_BYTES;
        switch_after: u32 = upmu_sampling_switch_after_AT, upmu_sampling_switch_after_BYTES;
        long_period: u64 = upmu_sampling_long_period_AT, upmu_sampling_long_period_BYTES;
        random_mask: u64 = upmu_sampling_random_mask_AT, upmu_sampling_random_mask_BYTES;
        random_seed: u64 = upmu_sampling_random_seed_AT, upmu_sampling_random_seed_BYTES;
        resets: u32 = upmu_sampling_resets_AT, upmu_sampling_resets_BYTES;
        frequency: u32 = upmu_sampling_frequency_AT, upmu_sampling_frequency_BYTES;
        flags: u32 = upmu_sampling_flags_AT, upmu_sampling_flags_BYTES;
    }
}
record! {
    /// One sample (`upmu/upmu.h`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    upmu_sample, of_upmu_sample {
        /// Interrupted instruction.
        ip: u64 = upmu_sample_ip_AT, upmu_sample_ip_BYTES;
        /// Its stack pointer.
        sp: u64 = upmu_sample_sp_AT, upmu_sample_sp_BYTES;
        /// The port's clock, or 0.
        time_ns: u64 = upmu_sample_time_ns_AT, upmu_sample_time_ns_BYTES;
        /// Bit i: event i of the session overflowed.
        events: u32 = upmu_sample_events_AT, upmu_sample_events_BYTES;
        /// Samples that found no room since the one stored before this one.
        lost: u32 = upmu_sample_lost_AT, upmu_sample_lost_BYTES;
        /// Number of the CPU, in the order of initialisation.
        cpu: u16 = upmu_sample_cpu_AT, upmu_sample_cpu_BYTES;
        /// Bits: `UPMU_SAMPLE_` of C's header.
        flags: u16 = upmu_sample_flags_AT, upmu_sample_flags_BYTES;
    }
}

/// What `run_on_cpu` runs on the other CPU.
pub type remote_work = unsafe extern "C" fn(*mut c_void);
/// A hook that these crates do not give: of units outside the cores, and of a paravirtual PMU.
pub type hook = Option<unsafe extern "C" fn()>;
record! {
    /// The hooks (`upmu/port.h`).
    upmu_port, of_upmu_port {
        context: *mut c_void = upmu_port_context_AT, upmu_port_context_BYTES;
        rdmsr: Option<unsafe extern "C" fn(*mut c_void, u32, *mut u64) -> bool>
            = upmu_port_rdmsr_AT, upmu_port_rdmsr_BYTES;
        wrmsr: Option<unsafe extern "C" fn(*mut c_void, u32, u64) -> bool> = upmu_port_wrmsr_AT, upmu_port_wrmsr_BYTES;
        cpuid: Option<unsafe extern "C" fn(*mut c_void, u32, u32, *mut u32)>
            = upmu_port_cpuid_AT, upmu_port_cpuid_BYTES;
        this_cpu: Option<unsafe extern "C" fn(*mut c_void) -> *mut upmu_cpu>
            = upmu_port_this_cpu_AT, upmu_port_this_cpu_BYTES;
        irq_save: Option<unsafe extern "C" fn(*mut c_void) -> usize> = upmu_port_irq_save_AT, upmu_port_irq_save_BYTES;
        irq_restore: Option<unsafe extern "C" fn(*mut c_void, usize)>
            = upmu_port_irq_restore_AT, upmu_port_irq_restore_BYTES;
        rdpmc: Option<unsafe extern "C" fn(*mut c_void, u32, *mut u64) -> bool>
            = upmu_port_rdpmc_AT, upmu_port_rdpmc_BYTES;
        pmi_rearm: Option<unsafe extern "C" fn(*mut c_void)> = upmu_port_pmi_rearm_AT, upmu_port_pmi_rearm_BYTES;
        clock_ns: Option<unsafe extern "C" fn(*mut c_void) -> u64> = upmu_port_clock_ns_AT, upmu_port_clock_ns_BYTES;
        allow_rdpmc: Option<unsafe extern "C" fn(*mut c_void, bool)>
            = upmu_port_allow_rdpmc_AT, upmu_port_allow_rdpmc_BYTES;
        run_on_cpu: Option<unsafe extern "C" fn(*mut c_void, *mut upmu_cpu, remote_work, *mut c_void) -> bool>
            = upmu_port_run_on_cpu_AT, upmu_port_run_on_cpu_BYTES;
        request_tick: Option<unsafe extern "C" fn(*mut c_void)>
            = upmu_port_request_tick_AT, upmu_port_request_tick_BYTES;
        tick_ns: u64 = upmu_port_tick_ns_AT, upmu_port_tick_ns_BYTES;
        log: Option<unsafe extern "C" fn(*mut c_void, *const u8)> = upmu_port_log_AT, upmu_port_log_BYTES;
        msr_faults_are_safe: bool = upmu_port_msr_faults_are_safe_AT, upmu_port_msr_faults_are_safe_BYTES;
        in_kernel_mode: bool = upmu_port_in_kernel_mode_AT, upmu_port_in_kernel_mode_BYTES;
        hypercall: hook = upmu_port_hypercall_AT, upmu_port_hypercall_BYTES;
        shared_page: hook = upmu_port_shared_page_AT, upmu_port_shared_page_BYTES;
        pci_read: hook = upmu_port_pci_read_AT, upmu_port_pci_read_BYTES;
        pci_write: hook = upmu_port_pci_write_AT, upmu_port_pci_write_BYTES;
        mmio_map: hook = upmu_port_mmio_map_AT, upmu_port_mmio_map_BYTES;
        mmio_unmap: hook = upmu_port_mmio_unmap_AT, upmu_port_mmio_unmap_BYTES;
        mmio_read: hook = upmu_port_mmio_read_AT, upmu_port_mmio_read_BYTES;
        mmio_write: hook = upmu_port_mmio_write_AT, upmu_port_mmio_write_BYTES;
        cpu_place: hook = upmu_port_cpu_place_AT, upmu_port_cpu_place_BYTES;
        nearest_cpu: hook = upmu_port_nearest_cpu_AT, upmu_port_nearest_cpu_BYTES;
        show_unit: hook = upmu_port_show_unit_AT, upmu_port_show_unit_BYTES;
        own_unit: hook = upmu_port_own_unit_AT, upmu_port_own_unit_BYTES;
    }
}

extern "C" {
    pub fn upmu_machine_init(machine: *mut upmu_machine, port: *const upmu_port) -> upmu_status;
    pub fn upmu_cpu_init(cpu: *mut upmu_cpu, machine: *mut upmu_machine, domains: *const *mut c_void) -> upmu_status;
    pub fn upmu_cpu_fini(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_cpu_use_work(cpu: *mut upmu_cpu, work: *mut upmu_place_work) -> upmu_status;
    pub fn upmu_cpu_suspend(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_cpu_resume(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_cpu_changed(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_cpu_poll(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_cpu_tick(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_pmi_handle(cpu: *mut upmu_cpu, frame: *const upmu_frame) -> u32;

    pub fn upmu_session_init(session: *mut upmu_session, machine: *mut upmu_machine) -> upmu_status;
    /// `set` is a session's member: `layout::upmu_session_set_AT`.
    pub fn upmu_set_add_n(
        set: *mut c_void,
        list: *const u8,
        bytes: usize,
        sampling: *const upmu_sampling,
    ) -> upmu_status;
    pub fn upmu_session_ring(session: *mut upmu_session, buffer: *mut c_void, bytes: usize) -> upmu_status;
    pub fn upmu_session_mask_on_full(session: *mut upmu_session, mask_on_full: bool);
    pub fn upmu_session_share(session: *mut upmu_session, share: bool) -> upmu_status;
    pub fn upmu_session_attach_cpu(session: *mut upmu_session, cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_session_attach_thread(
        session: *mut upmu_session,
        thread: *mut upmu_thread,
        cpu: *mut upmu_cpu,
    ) -> upmu_status;
    pub fn upmu_session_start(session: *mut upmu_session) -> upmu_status;
    pub fn upmu_session_stop(session: *mut upmu_session) -> upmu_status;
    pub fn upmu_session_restart(session: *mut upmu_session) -> upmu_status;
    pub fn upmu_session_detach(session: *mut upmu_session) -> upmu_status;
    pub fn upmu_session_close(session: *mut upmu_session) -> upmu_status;
    /// See `upmu_set_add_n`.
    pub fn upmu_set_read(set: *mut c_void, first: u32, count: u32, out_counts: *mut upmu_count) -> upmu_status;
    /// `ring` is the session's member: `layout::upmu_session_ring_AT`.
    pub fn upmu_ring_next(ring: *mut c_void, out_sample: *mut upmu_sample) -> bool;
    /// See `upmu_ring_next`.
    pub fn upmu_ring_lost(ring: *const c_void) -> u32;

    pub fn upmu_region_open_n(
        region: *mut upmu_region,
        cpu: *mut upmu_cpu,
        list: *const u8,
        bytes: usize,
    ) -> upmu_status;
    pub fn upmu_region_begin(region: *mut upmu_region) -> upmu_status;
    pub fn upmu_region_end(region: *mut upmu_region) -> upmu_status;
    pub fn upmu_region_close(region: *mut upmu_region) -> upmu_status;

    pub fn upmu_thread_switch(cpu: *mut upmu_cpu, prev: *mut upmu_thread, next: *mut upmu_thread) -> upmu_status;
    pub fn upmu_session_world(session: *mut upmu_session, world: u32) -> upmu_status;
    pub fn upmu_cpu_enter_guest(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_cpu_leave_guest(cpu: *mut upmu_cpu) -> upmu_status;
    pub fn upmu_thread_exit(thread: *mut upmu_thread) -> upmu_status;

    pub fn upmu_status_text(status: upmu_status) -> *const u8;
    pub fn upmu_why_text(why: *const upmu_why, buffer: *mut u8, size: usize) -> usize;
}

/// The PMU that a hypervisor shows its guests (`abi/guest/guest.h`).
#[cfg(feature = "guest")]
pub mod guest {
    pub use super::layout::upmu_guest;
    use super::{align_of, c_void, layout, rounded_up, size_of, upmu_machine, upmu_session, upmu_status, upmu_thread};

    record! {
        /// What a guest's CPUID shows of its PMU.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        upmu_guest_shape, of_upmu_guest_shape {
            /// The registers, as a number of C.
            door: u8 = upmu_guest_shape_door_AT, upmu_guest_shape_door_BYTES;
            /// Intel: 1 to 5; AMD: 0.
            version: u8 = upmu_guest_shape_version_AT, upmu_guest_shape_version_BYTES;
            /// General counters.
            general: u8 = upmu_guest_shape_general_AT, upmu_guest_shape_general_BYTES;
            /// Fixed counters; AMD: 0.
            fixed: u8 = upmu_guest_shape_fixed_AT, upmu_guest_shape_fixed_BYTES;
            /// Bits of each counter.
            width: u8 = upmu_guest_shape_width_AT, upmu_guest_shape_width_BYTES;
            /// Intel: 1 where counters can be written with all their bits.
            full_write: u8 = upmu_guest_shape_full_write_AT, upmu_guest_shape_full_write_BYTES;
            /// Intel: bit n: architectural event n is available.
            arch_events: u16 = upmu_guest_shape_arch_events_AT, upmu_guest_shape_arch_events_BYTES;
            /// Family of the CPU whose events the guest may name; 0: no CPU's.
            family: u16 = upmu_guest_shape_family_AT, upmu_guest_shape_family_BYTES;
            /// Model of this CPU.
            model: u16 = upmu_guest_shape_model_AT, upmu_guest_shape_model_BYTES;
            /// Stepping of this CPU.
            stepping: u8 = upmu_guest_shape_stepping_AT, upmu_guest_shape_stepping_BYTES;
            /// 0.
            reserved: [u8; 3] = upmu_guest_shape_reserved_AT, upmu_guest_shape_reserved_BYTES;
            /// Arm: the common events that are shown; else 0.
            events: [u64; 2] = upmu_guest_shape_events_AT, upmu_guest_shape_events_BYTES;
        }
    }
    record! {
        /// Events that a policy allows or denies.
        #[derive(Clone, Copy, Debug)]
        upmu_guest_filter, of_upmu_guest_filter {
            action: u8 = upmu_guest_filter_action_AT, upmu_guest_filter_action_BYTES;
            flags: u8 = upmu_guest_filter_flags_AT, upmu_guest_filter_flags_BYTES;
            count: u16 = upmu_guest_filter_count_AT, upmu_guest_filter_count_BYTES;
            fixed_bitmap: u32 = upmu_guest_filter_fixed_bitmap_AT, upmu_guest_filter_fixed_bitmap_BYTES;
            entry: *const u64 = upmu_guest_filter_entry_AT, upmu_guest_filter_entry_BYTES;
        }
    }
    record! {
        /// What a host grants a guest.
        #[derive(Clone, Copy, Debug)]
        upmu_guest_policy, of_upmu_guest_policy {
            level: u8 = upmu_guest_policy_level_AT, upmu_guest_policy_level_BYTES;
            flags: u8 = upmu_guest_policy_flags_AT, upmu_guest_policy_flags_BYTES;
            max_counters: u8 = upmu_guest_policy_max_counters_AT, upmu_guest_policy_max_counters_BYTES;
            filter: *const upmu_guest_filter = upmu_guest_policy_filter_AT, upmu_guest_policy_filter_BYTES;
            min_period: u64 = upmu_guest_policy_min_period_AT, upmu_guest_policy_min_period_BYTES;
            payload: [u64; 2] = upmu_guest_policy_payload_AT, upmu_guest_policy_payload_BYTES;
        }
    }
    record! {
        /// Memory of the host for one vCPU.
        #[derive(Clone, Copy, Debug)]
        upmu_guest_memory, of_upmu_guest_memory {
            sessions: *mut upmu_session = upmu_guest_memory_sessions_AT, upmu_guest_memory_sessions_BYTES;
            count: u32 = upmu_guest_memory_count_AT, upmu_guest_memory_count_BYTES;
            thread: *mut upmu_thread = upmu_guest_memory_thread_AT, upmu_guest_memory_thread_BYTES;
        }
    }
    record! {
        /// The host's work at an entry.
        #[derive(Clone, Copy, Debug, Default)]
        upmu_guest_entry, of_upmu_guest_entry {
            inject: u8 = upmu_guest_entry_inject_AT, upmu_guest_entry_inject_BYTES;
            vector: u8 = upmu_guest_entry_vector_AT, upmu_guest_entry_vector_BYTES;
            gate: u64 = upmu_guest_entry_gate_AT, upmu_guest_entry_gate_BYTES;
            passes: u32 = upmu_guest_entry_passes_AT, upmu_guest_entry_passes_BYTES;
            irq_level: bool = upmu_guest_entry_irq_level_AT, upmu_guest_entry_irq_level_BYTES;
            rdpmc_passes: bool = upmu_guest_entry_rdpmc_passes_AT, upmu_guest_entry_rdpmc_passes_BYTES;
        }
    }

    extern "C" {
        pub fn upmu_guest_shape_default(
            machine: *const upmu_machine,
            door: u32,
            policy: *const upmu_guest_policy,
            out_shape: *mut upmu_guest_shape,
        ) -> upmu_status;
        pub fn upmu_guest_init(
            guest: *mut upmu_guest,
            machine: *mut upmu_machine,
            shape: *const upmu_guest_shape,
            policy: *const upmu_guest_policy,
            memory: *const upmu_guest_memory,
        ) -> upmu_status;
        pub fn upmu_guest_fini(guest: *mut upmu_guest) -> upmu_status;
        pub fn upmu_guest_reset(guest: *mut upmu_guest);
        pub fn upmu_guest_policy_change(guest: *mut upmu_guest, policy: *const upmu_guest_policy) -> upmu_status;
        pub fn upmu_guest_cpuid(guest: *const upmu_guest, leaf: u32, subleaf: u32, inout: *mut u32) -> bool;
        pub fn upmu_guest_rdmsr(guest: *mut upmu_guest, msr: u32, out_value: *mut u64) -> u32;
        pub fn upmu_guest_wrmsr(guest: *mut upmu_guest, msr: u32, value: u64) -> u32;
        pub fn upmu_guest_rdpmc(guest: *mut upmu_guest, ecx: u32, out_value: *mut u64) -> u32;
        pub fn upmu_guest_enter(guest: *mut upmu_guest, out_entry: *mut upmu_guest_entry) -> upmu_status;
        pub fn upmu_guest_exit(guest: *mut upmu_guest) -> upmu_status;
        pub fn upmu_guest_lvtpc(guest: *mut upmu_guest, value: u32);
        pub fn upmu_guest_lapic(guest: *mut upmu_guest, enabled: bool);
        pub fn upmu_guest_retired(guest: *mut upmu_guest, instructions: u64, branches: u64, user: bool);
        pub fn upmu_guest_save(
            guest: *mut upmu_guest,
            state: *mut c_void,
            size: usize,
            out_used: *mut usize,
        ) -> upmu_status;
        pub fn upmu_guest_restore(guest: *mut upmu_guest, state: *const c_void, size: usize) -> upmu_status;
    }
}

/// The silicon model (`models/sim/sim.h`).
#[cfg(feature = "sim")]
pub mod sim {
    pub use super::layout::upmu_sim;
    use super::{c_void, upmu_cpu, upmu_frame, upmu_port};

    extern "C" {
        pub fn upmu_sim_init(sim: *mut upmu_sim, profile: *const c_void, cpus: u32);
        /// NULL: there is no profile of this name.
        pub fn upmu_sim_profile(name: *const u8) -> *const c_void;
        pub fn upmu_sim_port(sim: *mut upmu_sim) -> *const upmu_port;
        pub fn upmu_sim_bind_cpu(sim: *mut upmu_sim, number: u32, cpu: *mut upmu_cpu);
        pub fn upmu_sim_switch_cpu(sim: *mut upmu_sim, number: u32);
        /// An overflow interrupt on CPU `number` calls `entry`.
        pub fn upmu_rust_sim_deliver_to(
            sim: *mut upmu_sim,
            entry: unsafe extern "C" fn(*mut upmu_sim, u32, *const upmu_frame),
        );
        /// The current CPU executes so much; instruction k is at `ip + k * ip_step`.
        pub fn upmu_rust_sim_work(
            sim: *mut upmu_sim,
            instructions: u64,
            cycles: u64,
            branches: u64,
            mispredicts: u64,
            ip: u64,
            ip_step: u64,
        );
    }
}
