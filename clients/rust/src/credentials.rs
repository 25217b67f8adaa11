//! Tokens that were given to players who registered, in a file that only its owner may read.
//!
//! ```toml
//! ["127.0.0.1:7400"]
//! alice = "TOKEN"
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::environment::environment;
use crate::errors::Error;

/// A credentials file. Every client of an arbiter, in whatever language, reads and writes the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    path: PathBuf,
}

impl Credentials {
    /// Returns the file at a path; it need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Credentials {
        Credentials { path: path.into() }
    }

    /// Returns the user's file: `$ARBITER_CREDENTIALS`, or `arbiter/credentials.toml` in `$XDG_CONFIG_HOME` or
    /// `~/.config`.
    pub fn usual() -> Credentials {
        Credentials::at(usual_path(environment))
    }

    /// Returns the path of the file, which need not exist.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the token of a player on a server; of several addresses, with commas between them, the first with an entry
    /// counts. Fails with `Error::Credentials` if the file can't be used.
    pub fn find(&self, server: &str, name: &str) -> Result<Option<String>, Error> {
        let entries = self.entries()?;
        let token = |address| entries.get(address).and_then(|players| players.get(name)).and_then(Value::as_str);
        Ok(server.split(',').find_map(token).map(str::to_owned))
    }

    /// Stores a player's token for each address of the server, in place of an earlier one. Fails with
    /// `Error::Credentials`.
    pub fn save(&self, server: &str, name: &str, token: &str) -> Result<(), Error> {
        self.change(|entries| {
            for address in server.split(',') {
                let players = entries.entry(address).or_insert_with(|| Value::Table(Table::new()));
                if let Value::Table(players) = players {
                    players.insert(name.to_owned(), Value::String(token.to_owned()));
                }
            }
        })
    }

    /// Removes a player's token, at each address of the server, and returns whether there was one. Fails with `Error::Credentials`.
    pub fn forget(&self, server: &str, name: &str) -> Result<bool, Error> {
        let forgotten = |entries: &mut Table, address| match entries.get_mut(address) {
            Some(Value::Table(players)) => players.remove(name).is_some(),
            _ => false,
        };
        self.change(|entries| server.split(',').filter(|address| forgotten(entries, *address)).count() > 0)
    }

    fn entries(&self) -> Result<Table, Error> {
        let file = self.path.display();
        let broken = |error: String| {
            Error::Credentials(format!("can't use the credentials file {file}: {error}; mend it or move it away"))
        };
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Table::new()),
            text => text.map_err(|error| broken(error.to_string()))?,
        };
        let entries: Table = text.parse().map_err(|error: toml::de::Error| broken(error.message().to_owned()))?;
        let whole = |players: &Value| players.as_table().is_some_and(|table| table.values().all(Value::is_str));
        if !entries.values().all(whole) {
            let text = format!("{file} is no credentials file: it holds tables of NAME = TOKEN by server address");
            return Err(Error::Credentials(text));
        }
        Ok(entries)
    }

    fn change<R>(&self, work: impl FnOnce(&mut Table) -> R) -> Result<R, Error> {
        let failed = |error: io::Error| {
            Error::Credentials(format!("can't write the credentials file {}: {error}", self.path.display()))
        };
        if let Some(folder) = self.path.parent() {
            make_folder(folder).map_err(failed)?;
        }
        // Bots that start together register at the same time: each must see the entries of the others.
        let lock = private(&self.beside(".lock"), OpenOptions::new().write(true).create(true)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut entries = self.entries()?;
        let answer = work(&mut entries);
        entries.retain(|_, players| players.as_table().is_some_and(|table| !table.is_empty()));
        self.replace(&entries.to_string()).map_err(failed)?;
        Ok(answer)
    }

    /// Replaces the file atomically: a reader sees the old one or the new one.
    fn replace(&self, text: &str) -> io::Result<()> {
        let draft = self.beside(&format!(".{:016x}", fastrand::u64(..)));
        let mut file = private(&draft, OpenOptions::new().write(true).create_new(true))?;
        let replaced = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, &self.path));
        if replaced.is_err() {
            let _ = fs::remove_file(&draft);
        }
        replaced
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(ending);
        name.into()
    }
}

fn usual_path(variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    if let Some(given) = variable("ARBITER_CREDENTIALS") {
        return given.into();
    }
    let folder = match variable("XDG_CONFIG_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::home_dir().unwrap_or_default().join(".config"),
    };
    folder.join("arbiter").join("credentials.toml")
}

#[cfg(unix)]
fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.open(path)
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, Credentials) {
        let folder = tempfile::tempdir().expect("a folder");
        let credentials = Credentials::at(folder.path().join("arbiter/credentials.toml"));
        (folder, credentials)
    }

    #[test]
    fn a_token_is_kept_for_its_owner_alone() {
        let (_folder, file) = file();
        assert_eq!(file.find("127.0.0.1:7400", "alice").expect("no file is no error"), None);
        file.save("127.0.0.1:7400", "alice", "se\"cret").expect("saved");
        file.save("127.0.0.1:7400", "bob.2", "other").expect("saved");
        file.save("there:1", "alice", "third").expect("saved");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
            assert_eq!(mode(file.path()), 0o600);
            assert_eq!(mode(file.path().parent().expect("a folder")), 0o700);
        }
        assert_eq!(file.find("127.0.0.1:7400", "alice").expect("read").as_deref(), Some("se\"cret"));
        assert_eq!(file.find("127.0.0.1:7400", "bob.2").expect("read").as_deref(), Some("other"));
        assert_eq!(file.find("there:1", "bob.2").expect("read"), None);
        assert!(file.forget("127.0.0.1:7400", "alice").expect("forgotten"));
        assert!(!file.forget("127.0.0.1:7400", "alice").expect("forgotten"));
        let left = fs::read_to_string(file.path()).expect("read");
        assert_eq!(left, "[\"127.0.0.1:7400\"]\n\"bob.2\" = \"other\"\n\n[\"there:1\"]\nalice = \"third\"\n");
        assert_eq!(fs::read_dir(file.path().parent().expect("a folder")).expect("read").count(), 2, "no draft is left");
    }

    #[test]
    fn tokens_that_are_saved_at_once_are_all_kept() {
        let (_folder, file) = file();
        std::thread::scope(|threads| {
            for thread in 0..8 {
                let file = &file;
                threads.spawn(move || {
                    for n in 0..5 {
                        let name = format!("bot-{thread}-{n}");
                        file.save("here:1", &name, &name).expect("saved");
                    }
                });
            }
        });
        let entries = file.entries().expect("read");
        assert_eq!(entries["here:1"].as_table().map(Table::len), Some(40));
    }

    #[test]
    fn a_broken_file_is_named() {
        let (_folder, file) = file();
        fs::create_dir_all(file.path().parent().expect("a folder")).expect("made");
        for content in [&b"["[..], b"alice = 1", b"[here]\nalice = 1", b"\xff"] {
            fs::write(file.path(), content).expect("written");
            let error = file.find("here", "alice").expect_err("broken").to_string();
            assert!(error.contains(&file.path().display().to_string()), "{error}");
            assert!(file.save("here", "bob", "token").is_err());
        }
    }

    #[test]
    fn the_file_follows_the_environment() {
        let only =
            |name: &'static str, value: &'static str| move |asked: &str| (asked == name).then(|| value.to_owned());
        assert_eq!(usual_path(only("ARBITER_CREDENTIALS", "/here/file")), Path::new("/here/file"));
        assert_eq!(usual_path(only("XDG_CONFIG_HOME", "/conf")), Path::new("/conf/arbiter/credentials.toml"));
        assert!(usual_path(|_| None).ends_with(".config/arbiter/credentials.toml"));
    }
}
