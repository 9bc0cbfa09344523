//! The macro that writes a scenario with a device down.

/// A scenario with its name, id, engines, threads, body, points that must be reached and text.
macro_rules! scenario {
    ($name:ident, $id:literal, $engines:expr, $threads:literal, $body:expr, $reach:expr,
     $about:literal) => {
        #[doc = $about]
        pub const $name: Scenario = Scenario {
            id: $id,
            about: $about,
            threads: $threads,
            body: $body,
            engines: $engines,
            must_reach: $reach,
            loom_preemptions: None,
        };
    };
}

pub(super) use scenario;
