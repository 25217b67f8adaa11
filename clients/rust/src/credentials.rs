//! Tokens that were given to players who registered, in a file that only its owner may read.
//!
//! ```json
//! {"127.0.0.1:7400": {"alice": "TOKEN"}}
//! ```
//!
//! Earlier versions wrote TOML, and `credentials.toml`: such a file is read, and rewritten.

pub(crate) mod text;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::environment::environment;
use crate::errors::Error;
use text::{Entries, parse, write};

/// A credentials file. Every client of an arbiter, in whatever language, reads and writes the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    path: PathBuf,
    earlier: Option<PathBuf>, // read where the path has no file
}

impl Credentials {
    /// Returns the file at a path; it need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Credentials {
        Credentials { path: path.into(), earlier: None }
    }

    /// Returns the user's file: `$ARBITER_CREDENTIALS`, or `arbiter/credentials.json` in `$XDG_CONFIG_HOME` or
    /// `~/.config`.
    pub fn usual() -> Credentials {
        Credentials::by(environment)
    }

    fn by(variable: impl Fn(&str) -> Option<String>) -> Credentials {
        if let Some(given) = variable("ARBITER_CREDENTIALS") {
            return Credentials::at(given);
        }
        let folder = match variable("XDG_CONFIG_HOME") {
            Some(folder) => PathBuf::from(folder),
            None => std::env::home_dir().unwrap_or_default().join(".config"),
        };
        let path = folder.join("arbiter").join("credentials.json");
        let earlier = Some(path.with_extension("toml"));
        Credentials { path, earlier }
    }

    /// Returns the path of the file, which need not exist.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the token of a player on a server; of several addresses, with commas between them, the first with an entry
    /// counts. Fails with `Error::Credentials` if the file can't be used.
    pub fn find(&self, server: &str, name: &str) -> Result<Option<String>, Error> {
        let entries = self.entries()?;
        let token = |address| entries.get(address).and_then(|players| players.get(name));
        Ok(server.split(',').find_map(token).cloned())
    }

    /// Stores a player's token for each address of the server, in place of an earlier one. Fails with
    /// `Error::Credentials`.
    pub fn save(&self, server: &str, name: &str, token: &str) -> Result<(), Error> {
        self.change(|entries| {
            for address in server.split(',') {
                entries.entry(address.to_owned()).or_default().insert(name.to_owned(), token.to_owned());
            }
        })
    }

    /// Removes a player's token, at each address of the server, and returns whether there was one. Fails with `Error::Credentials`.
    pub fn forget(&self, server: &str, name: &str) -> Result<bool, Error> {
        let forgotten = |entries: &mut Entries, address| {
            entries.get_mut(address).is_some_and(|players| players.remove(name).is_some())
        };
        self.change(|entries| server.split(',').filter(|address| forgotten(entries, *address)).count() > 0)
    }

    fn entries(&self) -> Result<Entries, Error> {
        let (entries, old) = self.read()?;
        if old.is_some() {
            let _ = self.change(|_| ()); // writes it as JSON; a file that can't be written is only read
        }
        Ok(entries)
    }

    /// Returns the entries, and the file of an earlier version that holds them, if one does.
    fn read(&self) -> Result<(Entries, Option<&Path>), Error> {
        let earlier = self.earlier.as_deref().filter(|earlier| !self.path.exists() && earlier.exists());
        let file = earlier.unwrap_or(&self.path);
        let broken = |error: String| {
            let what = file.display();
            Error::Credentials(format!("can't use the credentials file {what}: {error}; mend it or move it away"))
        };
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Entries::new(), None)),
            text => text.map_err(|error| broken(error.to_string()))?,
        };
        let (entries, old) = parse(&text).map_err(broken)?;
        Ok((entries, old.then_some(file)))
    }

    fn change<R>(&self, work: impl FnOnce(&mut Entries) -> R) -> Result<R, Error> {
        let failed = |error: io::Error| {
            Error::Credentials(format!("can't write the credentials file {}: {error}", self.path.display()))
        };
        if let Some(folder) = self.path.parent() {
            make_folder(folder).map_err(failed)?;
        }
        // Bots that start together register at the same time: each must see the entries of the others.
        let lock = private(&self.beside(".lock"), OpenOptions::new().write(true).create(true)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let (mut entries, old) = self.read()?;
        let answer = work(&mut entries);
        self.replace(&write(&entries)).map_err(failed)?;
        if let Some(earlier) = old.filter(|file| *file != self.path) {
            fs::remove_file(earlier).map_err(failed)?;
        }
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
        let credentials = Credentials::at(folder.path().join("arbiter/credentials.json"));
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
        let expected = r#"{
 "127.0.0.1:7400": {
  "bob.2": "other"
 },
 "there:1": {
  "alice": "third"
 }
}
"#;
        assert_eq!(left, expected);
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
        assert_eq!(entries["here:1"].len(), 40);
    }

    #[test]
    fn a_broken_file_is_named() {
        let (_folder, file) = file();
        fs::create_dir_all(file.path().parent().expect("a folder")).expect("made");
        for content in [&b"["[..], b"alice = 1", b"[here]\nalice = 1", b"{", b"\xff"] {
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
        assert_eq!(Credentials::by(only("ARBITER_CREDENTIALS", "/here/file")), Credentials::at("/here/file"));
        let file = Credentials::by(only("XDG_CONFIG_HOME", "/conf"));
        assert_eq!(file.path(), Path::new("/conf/arbiter/credentials.json"));
        assert!(Credentials::by(|_| None).path().ends_with(".config/arbiter/credentials.json"));
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read_and_rewritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().display().to_string();
        let usual = Credentials::by(move |asked| (asked == "XDG_CONFIG_HOME").then(|| home.clone()));
        let earlier = usual.path().with_extension("toml");
        fs::create_dir(folder.path().join("arbiter")).expect("made");
        for file in [usual.clone(), Credentials::at(&earlier)] {
            fs::write(&earlier, "[\"there:1\"]\nalice = \"kept\"\n").expect("written");
            for _ in 0..2 {
                assert_eq!(file.find("there:1", "alice").expect("read").as_deref(), Some("kept"));
                let text = fs::read_to_string(file.path()).expect("it is there now");
                assert!(text.starts_with('{'), "{text}");
            }
            assert_eq!(earlier.exists(), file.path() == earlier);
            fs::remove_file(file.path()).expect("removed");
        }
        // A folder that can't be written to holds a file that is only read.
        let file = Credentials::at("/proc/self/no-such-folder/file");
        assert!(file.save("there:1", "alice", "lost").is_err());
    }

    #[test]
    fn texts_are_read_as_by_every_client() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/credentials.json");
        let vectors: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path).expect("the vectors are there")).expect("they are JSON");
        for case in vectors.as_array().expect("a list") {
            let found = parse(case["text"].as_str().expect("a text")).ok().map(|(entries, _)| entries);
            assert_eq!(serde_json::json!(found), case["entries"], "{}", case["name"]);
            if let Some(entries) = found {
                assert_eq!(parse(&write(&entries)).expect("what was written").0, entries);
            }
        }
    }
}
