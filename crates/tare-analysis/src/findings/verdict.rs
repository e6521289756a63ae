//! Verdicts: the decisions of the statistics on a comparison, and the reasons for deciding no more.

use tare_data::named;

named! {
    /// The decision on a comparison at its margin, the slowest first.
    ///
    /// A verdict on a subject's cell names a direction only where the correction for many cells keeps it, and nothing
    /// is decided below eight starts where rounds share them. Cells of the control are not corrected: they are counted
    /// against chance as a whole.
    pub enum Verdict {
        /// The interval lies beyond the margin.
        Slower = "slower",
        /// Direction known, size not: the interval excludes 1 but reaches into the margin.
        SlowerUnclear = "slower_unclear",
        /// Beyond the margin in each of the few starts that there were; another start may differ.
        SlowerInFewStarts = "slower_in_few_starts",
        /// Seen in these rounds; may be chance, as one of many cells.
        SlowerUnconfirmed = "slower_unconfirmed",
        /// The interval excludes 1 and lies within the margin.
        SlightlySlower = "slightly_slower",
        Faster = "faster",
        FasterUnclear = "faster_unclear",
        FasterInFewStarts = "faster_in_few_starts",
        FasterUnconfirmed = "faster_unconfirmed",
        SlightlyFaster = "slightly_faster",
        /// The typical cost lies within the margin, and the mean cost is not known to: a warning says how far it may be off.
        TypicallySame = "typically_same",
        /// Shown to lie within the margin, and the mean cost within 2.5 times the margin.
        Same = "same",
        Inconclusive = "inconclusive",
    }
}

/// A direction that is borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    Slower,
    Faster,
}

impl Verdict {
    /// Checks if more rounds are needless: never because something has become significant, only because size is known,
    /// of typical and of mean costs.
    pub fn is_settled(self) -> bool {
        match self {
            Verdict::Slower
            | Verdict::Faster
            | Verdict::SlightlySlower
            | Verdict::SlightlyFaster
            | Verdict::Same => true,
            Verdict::SlowerUnclear
            | Verdict::SlowerInFewStarts
            | Verdict::SlowerUnconfirmed
            | Verdict::FasterUnclear
            | Verdict::FasterInFewStarts
            | Verdict::FasterUnconfirmed
            | Verdict::TypicallySame
            | Verdict::Inconclusive => false,
        }
    }

    /// Returns the direction that it claims, by whatever size; none where the difference is not confirmed.
    pub fn trend(self) -> Option<Trend> {
        match self {
            Verdict::Slower | Verdict::SlightlySlower | Verdict::SlowerUnclear => Some(Trend::Slower),
            Verdict::Faster | Verdict::SlightlyFaster | Verdict::FasterUnclear => Some(Trend::Faster),
            Verdict::SlowerInFewStarts
            | Verdict::SlowerUnconfirmed
            | Verdict::FasterInFewStarts
            | Verdict::FasterUnconfirmed
            | Verdict::TypicallySame
            | Verdict::Same
            | Verdict::Inconclusive => None,
        }
    }

    /// Checks if it says that typical and mean costs lie within the margin.
    pub fn is_within_margin(self) -> bool {
        self.is_settled() && !matches!(self, Verdict::Slower | Verdict::Faster)
    }

    /// Returns the verdict that is left where the correction for many cells does not bear a direction out: a slight
    /// difference is within the margin all the same.
    pub fn to_unconfirmed(self) -> Verdict {
        match self {
            Verdict::Slower | Verdict::SlowerUnclear | Verdict::SlowerUnconfirmed => {
                Verdict::SlowerUnconfirmed
            }
            Verdict::Faster | Verdict::FasterUnclear | Verdict::FasterUnconfirmed => {
                Verdict::FasterUnconfirmed
            }
            Verdict::SlightlySlower | Verdict::SlightlyFaster | Verdict::Same => Verdict::Same,
            Verdict::SlowerInFewStarts
            | Verdict::FasterInFewStarts
            | Verdict::TypicallySame
            | Verdict::Inconclusive => self,
        }
    }
}
