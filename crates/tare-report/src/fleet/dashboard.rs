//! A Grafana dashboard that reads the table of cells by SQL, through a DuckDB data source.

use serde_json::{Value, json};

use super::FleetView;

/// Version of Grafana's schema for the file; later versions read it too.
const SCHEMA: u32 = 39;

/// Renders the dashboard as a file to import. `cells` is the path of the table's files, which the data source
/// must be able to read.
pub fn render_dashboard(view: &FleetView, cells: &str) -> String {
    let table = format!("read_parquet('{}/*.parquet')", cells.replace('\'', "''"));
    let slow = format!(
        "with n as (select kind, case_name, node, median(ln(median) * if(better = 'lower', 1, -1)) v from \
         (select *, \"case\" case_name from {table}) where role = 'baseline' and headline and median > 0 and peer_node is null \
         group by all), d as (select node, kind, case_name, v - median(v) over (partition by kind, case_name) off from n) \
         select node, kind, round(100 * (exp(median(off)) - 1), 2) slower_percent from d group by all order by 3 desc"
    );
    let costs = format!(
        "select environment, label, count(distinct node) nodes, exp(avg(ln(ratio))) slowdown, min(ratio) least, max(ratio) most \
         from {table} where role = 'subject' and headline and ratio > 0 group by all order by 4 desc"
    );
    let history = format!(
        "select started as time, median as value, label || ' on ' || node as metric from {table} where role = 'baseline' and \
         headline and node in ($node) order by started"
    );
    let pairs = format!(
        "select node, peer_node, label, median, unit from {table} where peer_node is not null and headline and \
         role = 'baseline' order by median desc"
    );
    let panels = [
        panel(1, "Nodes against their kind", "table", &slow, (0, 0, 12)),
        panel(2, "Cost of the layers", "table", &costs, (12, 0, 12)),
        panel(3, "Baseline of nodes over time", "timeseries", &history, (0, 10, 24)),
        panel(4, "Pairs, slowest first", "table", &pairs, (0, 20, 24)),
    ];
    let nodes = format!("select distinct node from {table} order by 1");
    let document = json!({
        "__inputs": [{ "name": "DS_DUCKDB", "label": "DuckDB", "type": "datasource", "pluginId": "motherduck-duckdb-datasource" }],
        "title": format!("tare fleet: {}", view.study),
        "uid": null,
        "schemaVersion": SCHEMA,
        "tags": ["tare"],
        "time": { "from": "now-90d", "to": "now" },
        "templating": { "list": [{
            "name": "node", "type": "query", "multi": true, "includeAll": true, "refresh": 2,
            "datasource": source(), "query": nodes, "definition": nodes,
        }] },
        "panels": panels,
    });
    format!("{document:#}\n")
}

fn source() -> Value {
    json!({ "type": "motherduck-duckdb-datasource", "uid": "${DS_DUCKDB}" })
}

fn panel(id: u32, title: &str, kind: &str, sql: &str, (x, y, width): (u32, u32, u32)) -> Value {
    json!({
        "id": id,
        "title": title,
        "type": kind,
        "gridPos": { "x": x, "y": y, "w": width, "h": 10 },
        "datasource": source(),
        "targets": [{ "refId": "A", "datasource": source(), "format": if kind == "table" { "table" } else { "time_series" }, "rawQuery": true, "rawSql": sql }],
    })
}
