//! Published figures beside what the models give, honestly: each number says whether it was read,
//! fitted or predicted.

pub mod fq;
pub mod line;
pub mod load;
pub mod nic;
pub mod speed;
pub mod svg;
