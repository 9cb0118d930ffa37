//! The rows of one region, in a `SQLite` database that lives in memory.
//!
//! Runs what anyone sends: reads only (by `SQLite`'s own authorizer), bounded in rows, bytes and time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use serde_json::{Value, json};

use super::Region;

pub(super) const MAX_ROWS: u32 = 100;
const MAX_TIME: Duration = Duration::from_secs(1);
/// How many of `SQLite`'s steps pass between two looks at the clock.
const STEPS: i32 = 1_000;
/// One value, one row and one statement each.
const MAX_VALUE_BYTES: i32 = 64 * 1024;
const MAX_ANSWER_BYTES: usize = 256 * 1024;

const TABLES: &str = "
    CREATE TABLE stores (id INTEGER PRIMARY KEY, city TEXT NOT NULL);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, item TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL);
";
const US: &str = "
    INSERT INTO stores VALUES (1, 'Portland'), (2, 'Seattle');
    INSERT INTO orders VALUES (101, 'Ada', 'kettle', 39, 'USD'), (102, 'Grace', 'lamp', 25, 'USD'), (103, 'Alan', 'chair', 120, 'USD');
";
const EU: &str = "
    INSERT INTO stores VALUES (1, 'Lisbon'), (2, 'Berlin'), (3, 'Oslo');
    INSERT INTO orders VALUES (201, 'Emmy', 'teapot', 31, 'EUR'), (202, 'Edsger', 'desk', 210, 'EUR');
";

pub(super) struct Database {
    connection: Mutex<Connection>,
}

pub(super) struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    /// Whether rows were left out.
    pub more: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error("only SELECT statements are answered here")]
    NotAQuery,
    #[error("the query took longer than {MAX_TIME:?}; ask for less")]
    TooSlow,
    #[error("the answer is larger than {MAX_ANSWER_BYTES} bytes; ask for less")]
    TooLarge,
    #[error("{0}")]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied) => Self::NotAQuery,
            Some(ErrorCode::OperationInterrupted) => Self::TooSlow,
            _ => Self::Sqlite(error),
        }
    }
}

impl Database {
    pub(super) fn open(region: Region) -> rusqlite::Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(TABLES)?;
        connection.execute_batch(match region {
            Region::UsWest1 => US,
            Region::EuWest1 => EU,
        })?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        connection.authorizer(Some(reads_only));
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// The first rows of a query, `limit` at most. Blocks, for a second at most once the database is free.
    pub(super) fn select(&self, query: &str, limit: u32) -> Result<Answer, QueryError> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = Instant::now() + MAX_TIME;
        connection.progress_handler(STEPS, Some(move || Instant::now() > deadline));
        let mut statement = connection.prepare(query)?;
        let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        if columns.is_empty() {
            return Err(QueryError::NotAQuery);
        }
        let mut found = Vec::new();
        let mut bytes = 0;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if found.len() >= limit as usize {
                return Ok(Answer { columns, rows: found, more: true });
            }
            let row: Vec<Value> =
                (0..columns.len()).map(|index| row.get_ref(index).map(json_of)).collect::<Result<_, _>>()?;
            bytes += row.iter().map(size).sum::<usize>();
            if bytes > MAX_ANSWER_BYTES {
                return Err(QueryError::TooLarge);
            }
            found.push(row);
        }
        Ok(Answer { columns, rows: found, more: false })
    }
}

/// Whatever is not reading is denied: writes, `PRAGMA`, and `ATTACH`, which would reach the machine's files.
fn reads_only(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Function { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    }
}

/// About how much a value weighs in the answer.
fn size(value: &Value) -> usize {
    value.as_str().map_or(8, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Result<Answer, QueryError> {
        Database::open(Region::UsWest1).unwrap().select(query, 3)
    }

    #[test]
    fn rows_differ_by_region() {
        let of = |region| {
            let answer = Database::open(region).unwrap().select("SELECT city FROM stores ORDER BY id", 9).unwrap();
            assert_eq!((answer.columns.as_slice(), answer.more), (&["city".to_owned()][..], false));
            answer.rows.concat()
        };
        assert_eq!(of(Region::UsWest1), ["Portland", "Seattle"]);
        assert_eq!(of(Region::EuWest1), ["Lisbon", "Berlin", "Oslo"]);
    }

    #[test]
    fn values_of_every_type() {
        let answer = ask("SELECT NULL, 9007199254740993, 1.5, 'é', x'00ff', 1e999").unwrap();
        assert_eq!(
            answer.rows,
            [[json!(null), json!(9_007_199_254_740_993_i64), json!(1.5), json!("é"), json!("2 bytes"), json!(null)]]
        );
    }

    #[test]
    fn only_reading_is_allowed() {
        for query in [
            "DELETE FROM orders",
            "INSERT INTO stores VALUES (9, 'x')",
            "UPDATE orders SET amount = 0",
            "DROP TABLE orders",
            "CREATE TABLE t (a)",
            "ATTACH ':memory:' AS other",
            "PRAGMA query_only",
            "SELECT * FROM pragma_database_list",
            "VACUUM INTO 'copy.db'",
            "BEGIN",
            "INSERT INTO stores VALUES (9, 'x') RETURNING id",
            "",
            "-- nothing",
        ] {
            assert!(matches!(ask(query), Err(QueryError::NotAQuery)), "{query}");
        }
        assert!(matches!(ask("SELEC 1"), Err(QueryError::Sqlite(_))));
    }

    #[test]
    fn rows_bytes_and_time_are_bounded() {
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        let answer = ask(&format!("{endless} SELECT i FROM n")).unwrap();
        assert_eq!((answer.rows.concat(), answer.more), (vec![json!(1), json!(2), json!(3)], true));
        assert!(matches!(ask(&format!("{endless} SELECT count(*) FROM n")), Err(QueryError::TooSlow)));
        assert!(matches!(ask("SELECT zeroblob(1000000)"), Err(QueryError::Sqlite(_))));
        let wide = Database::open(Region::UsWest1).unwrap();
        let big = wide.select(&format!("{endless} SELECT hex(zeroblob(30000)) FROM n"), MAX_ROWS);
        assert!(matches!(big, Err(QueryError::TooLarge)));
        // The clock starts anew with each query.
        assert!(wide.select("SELECT 1", 1).is_ok());
    }
}
