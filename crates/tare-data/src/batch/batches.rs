//! The batches of a trial: held in memory, or read from where they lie each time they are wanted.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::batch::Batch;

/// Source of batches that are not in memory: a record, say.
pub trait Shelf: Debug + Send + Sync {
    /// Reads the batches of a trial from a stretch of bytes, in their order; only those of a series, if one
    /// is given.
    fn read_batches<'a>(
        &'a self,
        trial: u64,
        stretch: Range<u64>,
        series: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = Batch> + 'a>;
}

/// Batches in the order in which they came.
#[derive(Clone, Debug)]
pub struct Batches(Kept);

#[derive(Clone, Debug)]
enum Kept {
    Held(Arc<Vec<Batch>>),
    Lying { shelf: Arc<dyn Shelf>, trial: u64, stretch: Range<u64> },
}

impl Batches {
    /// Refers to the batches of a trial in this stretch.
    pub fn from_shelf(shelf: Arc<dyn Shelf>, trial: u64, stretch: Range<u64>) -> Self {
        Batches(Kept::Lying { shelf, trial, stretch })
    }

    pub fn iter(&self) -> Iter<'_> {
        self.read(None)
    }

    /// Iterates over the batches of a series.
    pub fn iter_series<'a>(&'a self, series: &'a str) -> impl Iterator<Item = Cow<'a, Batch>> {
        self.read(Some(series)).filter(move |batch| batch.series == series)
    }

    fn read<'a>(&'a self, series: Option<&'a str>) -> Iter<'a> {
        match &self.0 {
            Kept::Held(held) => Box::new(held.iter().map(Cow::Borrowed)),
            Kept::Lying { shelf, trial, stretch } => {
                Box::new(shelf.read_batches(*trial, stretch.clone(), series).map(Cow::Owned))
            }
        }
    }

    /// Reads all of them into memory.
    pub fn to_vec(&self) -> Vec<Batch> {
        self.iter().map(Cow::into_owned).collect()
    }

    /// Adds a batch, and holds them all.
    pub fn push(&mut self, batch: Batch) {
        self.extend([batch]);
    }
}

/// Batches one by one.
pub type Iter<'a> = Box<dyn Iterator<Item = Cow<'a, Batch>> + 'a>;

impl<'a> IntoIterator for &'a Batches {
    type Item = Cow<'a, Batch>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Extend<Batch> for Batches {
    fn extend<T: IntoIterator<Item = Batch>>(&mut self, more: T) {
        if let Kept::Lying { .. } = self.0 {
            *self = self.to_vec().into();
        }
        if let Kept::Held(held) = &mut self.0 {
            Arc::make_mut(held).extend(more);
        }
    }
}

impl From<Vec<Batch>> for Batches {
    fn from(held: Vec<Batch>) -> Self {
        Batches(Kept::Held(Arc::new(held)))
    }
}

impl Default for Batches {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl PartialEq for Batches {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
