//! Pins of a block, from the header that Verilator makes: `VL_IN16(&cmd_count,15,0);`.

/// One pin: its name, its type in C++ and in Rust.
struct Pin {
    name: String,
    cpp: String,
    rust: String,
    words: usize,
    bits: usize,
}

/// Pins in and out, clock and reset aside.
pub struct Pins {
    block: String,
    inputs: Vec<Pin>,
    outputs: Vec<Pin>,
}

impl Pins {
    pub fn of(block: &str, header: &str) -> Self {
        let mut pins = Self { block: block.to_owned(), inputs: Vec::new(), outputs: Vec::new() };
        for line in header.lines().map(str::trim) {
            let Some((kind, rest)) = line.strip_prefix("VL_").and_then(|l| l.split_once("(&"))
            else {
                continue;
            };
            let rest = rest.trim_end_matches(");");
            let parts: Vec<&str> = rest.split(',').collect();
            let (is_in, width) = match (kind.strip_prefix("IN"), kind.strip_prefix("OUT")) {
                (Some(width), _) => (true, width),
                (_, Some(width)) => (false, width),
                _ => continue,
            };
            if !["clk", "rst"].contains(&parts[0]) {
                let list = if is_in { &mut pins.inputs } else { &mut pins.outputs };
                list.push(Pin::of(parts[0], &parts, width));
            }
        }
        pins
    }

    /// The shim: the template with names and copies of each pin.
    pub fn shim(&self, template: &str) -> String {
        let fields = |pins: &[Pin]| {
            let field = |p: &Pin| match p.words {
                0 => format!("    {} {};\n", p.cpp, p.name),
                n => format!("    {} {}[{n}];\n", p.cpp, p.name),
            };
            pins.iter().map(field).collect::<String>()
        };
        let copies = |pins: &[Pin], is_in: bool| {
            let copy = |p: &Pin| {
                let (name, of) = (&p.name, |side: &str| format!("{side}->{}", p.name));
                let (to, from) = if is_in { (of("top"), of("in")) } else { (of("out"), of("top")) };
                match p.words {
                    0 => format!("    {to} = {from};\n"),
                    n => format!(
                        "    for (int i = 0; i < {n}; i++) {to}[i] = {from}[i]; // {name}\n"
                    ),
                }
            };
            pins.iter().map(copy).collect::<String>()
        };
        template
            .replace("@BLOCK@", &self.block)
            .replace("@IN_FIELDS@", &fields(&self.inputs))
            .replace("@OUT_FIELDS@", &fields(&self.outputs))
            .replace("@IN_COPIES@", &copies(&self.inputs, true))
            .replace("@OUT_COPIES@", &copies(&self.outputs, false))
    }

    /// The pins as Rust sees them, and the functions of the shim.
    pub fn rust(&self) -> String {
        let fields = |pins: &[Pin]| {
            let field = |p: &Pin| format!("pub {}: {},\n", p.name, p.rust);
            pins.iter().map(field).collect::<String>()
        };
        let shows = |pins: &[Pin], side: &str| {
            let show = |p: &Pin| {
                let value = format!("{side}.{}", p.name);
                let words = match (p.words, p.bits > 32) {
                    (0, false) => format!("[{value} as u32]"),
                    (0, true) => format!("[{value} as u32, ({value} >> 32) as u32]"),
                    _ => value,
                };
                format!("see(\"{}\", {}, &{words});\n", p.name, p.bits)
            };
            pins.iter().map(show).collect::<String>()
        };
        include_str!("pins.rs.in")
            .replace("@BLOCK@", &self.block)
            .replace("@IN_FIELDS@", &fields(&self.inputs))
            .replace("@OUT_FIELDS@", &fields(&self.outputs))
            .replace("@IN_SHOWS@", &shows(&self.inputs, "input"))
            .replace("@OUT_SHOWS@", &shows(&self.outputs, "output"))
    }
}

impl Pin {
    fn of(name: &str, parts: &[&str], width: &str) -> Self {
        let number = |n: usize| parts.get(n).and_then(|text| text.parse::<usize>().ok());
        let words = number(3).unwrap_or(0);
        let (cpp, rust) = match width {
            "8" => ("uint8_t", "u8".to_owned()),
            "16" => ("uint16_t", "u16".to_owned()),
            "64" => ("uint64_t", "u64".to_owned()),
            "W" => ("uint32_t", format!("[u32; {words}]")),
            _ => ("uint32_t", "u32".to_owned()),
        };
        let bits = number(1).unwrap_or(0) + 1;
        Self { name: name.to_owned(), cpp: cpp.to_owned(), rust, words, bits }
    }
}
