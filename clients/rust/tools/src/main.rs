//! Makes the protocol's Rust code from the `.proto` files, without a `protoc`: `cargo run` in this folder, or
//! `cargo run -- FOLDER` for another target.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

const FILES: [&str; 5] = ["game", "play", "rating", "server", "tournament"];

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("start this program by `cargo run`")?);
    let target = env::args_os().nth(1).map_or_else(|| here.join("../src/generated"), PathBuf::from);
    fs::create_dir_all(&target)?;
    let files = FILES.map(|name| format!("arbiter/v1/{name}.proto"));
    let descriptors = protox::compile(files, [here.join("../../../protos")])?;
    tonic_prost_build::configure()
        // A newer protocol may have more of each: whoever tells them apart has an arm for the rest.
        .enum_attribute(".", "#[non_exhaustive]")
        // Servers, too, for tests: they answer UNIMPLEMENTED to what they leave out.
        .generate_default_stubs(true)
        .out_dir(target)
        .compile_fds(descriptors)?;
    Ok(())
}
