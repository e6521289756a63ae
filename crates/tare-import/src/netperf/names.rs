//! netperf's output selectors that are understood, and their spelling in the heads of its tables.

/// Key of a selector, and its words in a table's head: joined by blanks in CSV, below each other in a table.
///
/// The words are netperf 2.7's own; a column is recognised by them.
pub static SELECTORS: &[(&str, &str)] = &[
    ("SOCKET_TYPE", "Socket Type"),
    ("PROTOCOL", "Protocol"),
    ("DIRECTION", "Direction"),
    ("ELAPSED_TIME", "Elapsed Time (sec)"),
    ("THROUGHPUT", "Throughput"),
    ("THROUGHPUT_UNITS", "Throughput Units"),
    ("REQUEST_SIZE", "Request Size Bytes"),
    ("RESPONSE_SIZE", "Response Size Bytes"),
    ("LOCAL_SEND_SIZE", "Local Send Size"),
    ("LOCAL_NODELAY", "Local NODELAY"),
    ("BURST_SIZE", "Initial Burst Requests"),
    ("TRANSACTION_RATE", "Transaction Rate Tran/s"),
    ("RT_LATENCY", "Round Trip Latency usec/tran"),
    ("MIN_LATENCY", "Minimum Latency Microseconds"),
    ("MAX_LATENCY", "Maximum Latency Microseconds"),
    ("P50_LATENCY", "50th Percentile Latency Microseconds"),
    ("P90_LATENCY", "90th Percentile Latency Microseconds"),
    ("P99_LATENCY", "99th Percentile Latency Microseconds"),
    ("MEAN_LATENCY", "Mean Latency Microseconds"),
    ("STDDEV_LATENCY", "Stddev Latency Microseconds"),
    ("LOCAL_CPU_UTIL", "Local CPU Util %"),
    ("REMOTE_CPU_UTIL", "Remote CPU Util %"),
    ("DEST_ADDR", "Destination Address"),
    ("COMMAND_LINE", "Command Line"),
];

pub fn key_of(words: &str) -> Option<&'static str> {
    SELECTORS.iter().find(|(_, head)| *head == words).map(|(key, _)| *key)
}

/// Finds the understood key that a `-k` line names.
pub fn find_known_key(key: &str) -> Option<&'static str> {
    SELECTORS.iter().find(|(known, _)| *known == key).map(|(known, _)| *known)
}
