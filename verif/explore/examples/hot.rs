#[path = "../tests/common/scenarios.rs"]
mod scenarios;
use pollproof_explore::{explore, Config, Model, Reduction};
use std::ops::ControlFlow::Continue;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let model = match a[2].as_str() {
        "sc" => Model::Sc,
        "tso" => Model::Tso,
        "ra" => Model::Ra,
        _ => Model::Rc11,
    };
    let reduction = if a[2] == "dpor" { Reduction::Dpor } else { Reduction::Graphs };
    let config = Config { reduction, model, ..Config::default() };
    let seconds: f64 = a[3].parse().unwrap();
    let program: &dyn Fn() = match a[1].as_str() {
        "qv3" => &|| scenarios::qv_lock(3, 1),
        "qv32" => &|| scenarios::qv_lock(3, 2),
        "hash2" => &|| scenarios::hash(2),
        "hash4" => &|| scenarios::hash(4),
        "napi2" => &|| scenarios::napi(2),
        _ => &|| scenarios::napi(1),
    };
    let began = cpu();
    let mut n = 0;
    while cpu() - began < seconds {
        let s = explore(&config, program, &mut |_| Continue(()));
        n += s.executions + s.blocked;
    }
    println!("{} {} {:.0}/s", a[1], a[2], n as f64 / (cpu() - began));
}
