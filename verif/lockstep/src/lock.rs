//! The books of both sides: what each showed, what waits for the other, and the first difference.

use crate::equivalence::{Observable, Relation};
use std::collections::VecDeque;
use std::fmt::Write;

/// Values of an observable, by its fields.
pub type Fields = [u64; 6];

/// Events of a side that a difference shows.
const RECENT: usize = 12;

/// Whose event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The model's.
    Model,
    /// The RTL's.
    Rtl,
}

/// Something that a side showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Cycle.
    pub cycle: u64,
    /// Which observable, by its place in the block.
    pub channel: usize,
    /// Values.
    pub fields: Fields,
}

/// What a waveform shows of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Whose.
    pub who: Who,
    /// What.
    pub seen: Seen,
    /// False when it only shows again what differs.
    pub is_new: bool,
}

/// What kind of difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Two values that belong together are not the same.
    Differ,
    /// The RTL did what the model did not, or not yet.
    Unasked,
    /// The model did, or allowed, what the RTL does not within the bound.
    Late,
    /// An assertion in the RTL failed, at this place.
    Assertion(String),
}

/// The first thing in which both sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Cycle.
    pub cycle: u64,
    /// Observable.
    pub observable: Option<&'static Observable>,
    /// What kind.
    pub why: Why,
    /// The model's value.
    pub model: Option<Fields>,
    /// The RTL's value.
    pub rtl: Option<Fields>,
    /// Last events of the model and of the RTL, oldest first.
    pub recent: [Vec<Seen>; 2],
}

struct Channel {
    about: &'static Observable,
    model: VecDeque<Seen>,
    age: u32,
}

/// The books.
pub struct Lock {
    cycle: u64,
    channels: Vec<Channel>,
    recent: [VecDeque<Seen>; 2],
    difference: Option<Box<Difference>>,
    compared: u64,
    /// Events of this cycle, for a waveform, and what differs.
    watched: Option<Vec<Watched>>,
}

impl Lock {
    /// Books of a block.
    pub fn new(observables: &'static [Observable]) -> Self {
        let channel = |about| Channel { about, model: VecDeque::new(), age: 0 };
        Self {
            cycle: 0,
            channels: observables.iter().map(channel).collect(),
            recent: [VecDeque::with_capacity(RECENT), VecDeque::with_capacity(RECENT)],
            difference: None,
            compared: 0,
            watched: None,
        }
    }

    /// Keeps the events of each cycle.
    pub fn watch(&mut self) {
        self.watched = Some(Vec::new());
    }

    /// What this cycle showed, when it is kept.
    pub fn watched(&self) -> &[Watched] {
        self.watched.as_deref().unwrap_or_default()
    }

    /// The next cycle begins.
    #[inline]
    pub fn begin(&mut self, cycle: u64) {
        self.cycle = cycle;
        if let Some(watched) = &mut self.watched {
            watched.clear();
        }
    }

    /// The cycle that is on.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Values that were compared.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// The first difference, if there is one.
    #[inline]
    pub fn has_difference(&self) -> bool {
        self.difference.is_some()
    }

    /// Takes it.
    pub fn take_difference(&mut self) -> Option<Box<Difference>> {
        self.difference.take()
    }

    #[inline]
    fn note(&mut self, who: Who, channel: usize, fields: Fields) -> Seen {
        let seen = Seen { cycle: self.cycle, channel, fields };
        let recent = &mut self.recent[who as usize];
        if recent.len() == RECENT {
            recent.pop_front();
        }
        recent.push_back(seen);
        if let Some(watched) = &mut self.watched {
            watched.push(Watched { who, seen, is_new: true });
        }
        seen
    }

    #[cold]
    fn differ(&mut self, channel: usize, why: Why, model: Option<Fields>, rtl: Option<Fields>) {
        if self.difference.is_some() {
            return;
        }
        let observable = self.channels.get(channel).map(|c| c.about);
        if let Some(watched) = &mut self.watched {
            // The values themselves, of whenever they are: state is no event, and the model's may
            // be older than its last.
            for (who, fields) in [(Who::Model, model), (Who::Rtl, rtl)] {
                let seen = |fields| Seen { cycle: self.cycle, channel, fields };
                let again = |fields| Watched { who, seen: seen(fields), is_new: false };
                watched.extend(fields.map(again));
            }
        }
        let recent = [0, 1].map(|n: usize| self.recent[n].iter().copied().collect());
        let cycle = self.cycle;
        let difference = Difference { cycle, observable, why, model, rtl, recent };
        self.difference = Some(Box::new(difference));
    }

    /// An assertion in the RTL failed.
    pub fn assertion(&mut self, at: String) {
        self.differ(usize::MAX, Why::Assertion(at), None, None);
    }

    /// The model showed something, of which the RTL must follow.
    #[inline]
    pub fn model(&mut self, channel: usize, fields: Fields) {
        let seen = self.note(Who::Model, channel, fields);
        self.channels[channel].model.push_back(seen);
    }

    /// The RTL showed something; the model must have before.
    #[inline]
    pub fn rtl(&mut self, channel: usize, fields: Fields) {
        self.note(Who::Rtl, channel, fields);
        let it = &mut self.channels[channel];
        it.age = 0;
        self.compared += 1;
        match it.model.pop_front() {
            Some(model) if model.fields == fields => {}
            Some(model) => {
                self.differ(channel, Why::Differ, Some(model.fields), Some(fields));
            }
            None => self.differ(channel, Why::Unasked, None, Some(fields)),
        }
    }

    /// Both showed something in this cycle, at a step.
    #[inline]
    pub fn both(&mut self, channel: usize, model: Fields, rtl: Fields) {
        self.note(Who::Model, channel, model);
        self.note(Who::Rtl, channel, rtl);
        self.same(channel, model, rtl);
    }

    /// The state of both, which is looked at all the time.
    #[inline]
    pub fn same(&mut self, channel: usize, model: Fields, rtl: Fields) {
        self.compared += 1;
        if model != rtl {
            self.differ(channel, Why::Differ, Some(model), Some(rtl));
        }
    }

    /// The RTL made a choice that the model does not allow.
    pub fn refused(&mut self, channel: usize, model: Fields, rtl: Fields) {
        self.note(Who::Rtl, channel, rtl);
        self.differ(channel, Why::Unasked, Some(model), Some(rtl));
    }

    /// The RTL made a choice that the model allows, or does not make one that it should.
    #[inline]
    pub fn choice(&mut self, channel: usize, made: bool, wanted: bool, fields: Fields) {
        if made {
            self.note(Who::Rtl, channel, fields);
            self.channels[channel].age = 0;
            self.compared += 1;
        } else if wanted {
            self.grow_older(channel, Some(fields));
        } else {
            self.channels[channel].age = 0;
        }
    }

    /// The bus would have taken something of this channel: what the model showed gets late.
    #[inline]
    pub fn open(&mut self, channel: usize) {
        if self.channels[channel].model.is_empty() {
            self.channels[channel].age = 0;
        } else {
            let waits = self.channels[channel].model.front().map(|seen| seen.fields);
            self.grow_older(channel, waits);
        }
    }

    #[inline]
    fn grow_older(&mut self, channel: usize, waits: Option<Fields>) {
        let it = &mut self.channels[channel];
        it.age += 1;
        let within = match it.about.relation {
            Relation::Same => 0,
            Relation::Order { within } | Relation::Choice { within } => within,
        };
        if it.age > within {
            self.differ(channel, Why::Late, waits, None);
        }
    }
}

impl Difference {
    /// What differs, in a line.
    pub fn headline(&self) -> String {
        let name = self.observable.map_or("assertion", |o| o.name);
        let what = match &self.why {
            Why::Differ => "both sides differ".to_owned(),
            Why::Unasked => "the RTL did what the model does not allow".to_owned(),
            Why::Late => match self.observable.map(|o| o.relation) {
                Some(Relation::Order { within } | Relation::Choice { within }) => {
                    format!("the RTL is more than {within} cycles late")
                }
                _ => "the RTL is late".to_owned(),
            },
            Why::Assertion(at) => format!("the RTL's own assertion at {at} failed"),
        };
        format!("cycle {}, {name}: {what}", self.cycle)
    }

    /// All of it, for people.
    pub fn text(&self, observables: &[Observable]) -> String {
        let mut text = format!("{}\n", self.headline());
        if let Some(about) = self.observable {
            let rows = [("model", self.model), ("RTL", self.rtl)];
            for (n, field) in about.fields.iter().enumerate() {
                let value = |fields: Option<Fields>| match fields {
                    Some(fields) => format!("{:#x}", fields[n]),
                    None => "-".to_owned(),
                };
                let [model, rtl] = rows.map(|(_, fields)| value(fields));
                let mark = if model == rtl { "" } else { "  <" };
                let _ = writeln!(text, "  {field:<20} model {model:<20} RTL {rtl}{mark}");
            }
            let _ = writeln!(text, "  equivalence          {}", about.relation.text());
        }
        for (who, events) in [("model", &self.recent[0]), ("RTL", &self.recent[1])] {
            let _ = writeln!(text, "  last events, {who}:");
            for seen in events {
                let _ = writeln!(text, "    {}", line(seen, observables));
            }
        }
        text
    }
}

/// One event in a line.
fn line(seen: &Seen, observables: &[Observable]) -> String {
    let Some(about) = observables.get(seen.channel) else { return String::new() };
    let mut line = format!("{:>6} {:<8}", seen.cycle, about.name);
    for (field, value) in about.fields.iter().zip(seen.fields) {
        let _ = write!(line, " {field} {value:#x}");
    }
    line
}
