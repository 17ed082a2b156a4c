// SPDX-License-Identifier: MIT
//! Ordered indexes of crates.io behind functions of C: NAME_make, NAME_destroy and NAME_serve, which carries out
//! a portion of requests under one guard. bench/indexes/crates.cpp calls them.

use congee::Congee;
use scc::{Guard, TreeIndex};
use std::ffi::c_void;

/// The same as apps/ycsb/workload.hpp has.
#[repr(C)]
pub struct Request {
    key: u64,
    kind: u8,
    length: u8,
}
const LOOKUP: u8 = 0;
const INSERT: u8 = 2;

type Scc = TreeIndex<u64, u64>;
type Art = Congee<usize, usize>;

fn boxed<T>(index: T) -> *mut c_void {
    Box::into_raw(Box::new(index)).cast()
}

#[no_mangle]
pub extern "C" fn scc_make() -> *mut c_void {
    boxed(Scc::new())
}

/// # Safety
/// `index` is of `scc_make`, and not used any more.
#[no_mangle]
pub unsafe extern "C" fn scc_destroy(index: *mut c_void) {
    drop(Box::from_raw(index.cast::<Scc>()));
}

/// Returns how many of the keys were there. Request i writes `first` + i.
///
/// # Safety
/// `index` is of `scc_make`; there are `count` requests.
#[no_mangle]
pub unsafe extern "C" fn scc_serve(index: *mut c_void, requests: *const Request, count: usize, first: u64) -> u64 {
    let index = &*index.cast::<Scc>();
    let guard = Guard::new();
    let mut found = 0;
    for (request, value) in std::slice::from_raw_parts(requests, count).iter().zip(first..) {
        found += u64::from(match request.kind {
            LOOKUP => index.peek(&request.key, &guard).is_some(),
            INSERT => index.insert_sync(request.key, value).is_err(),
            _ => {
                index.upsert_sync(request.key, value);
                true
            }
        });
    }
    found
}

#[no_mangle]
pub extern "C" fn congee_make() -> *mut c_void {
    boxed(Art::default())
}

/// # Safety
/// `index` is of `congee_make`, and not used any more.
#[no_mangle]
pub unsafe extern "C" fn congee_destroy(index: *mut c_void) {
    drop(Box::from_raw(index.cast::<Art>()));
}

/// Returns how many of the keys were there. Request i writes `first` + i.
///
/// # Safety
/// `index` is of `congee_make`; there are `count` requests.
#[no_mangle]
pub unsafe extern "C" fn congee_serve(index: *mut c_void, requests: *const Request, count: usize, first: u64) -> u64 {
    let index = &*index.cast::<Art>();
    let guard = index.pin();
    let mut found = 0;
    for (request, value) in std::slice::from_raw_parts(requests, count).iter().zip(first as usize..) {
        let key = request.key as usize;
        found += u64::from(match request.kind {
            LOOKUP => index.get(&key, &guard).is_some(),
            INSERT => index.insert(key, value, &guard).expect("memory").is_some(),
            _ => index.compute_if_present(&key, |_| Some(value), &guard).is_some(),
        });
    }
    found
}
