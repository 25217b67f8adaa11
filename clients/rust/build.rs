//! Makes the protocol's Rust code from the `.proto` files, without a `protoc`.
//!
//! `protos` is a link to the repository's; a package has the files themselves there.

use std::error::Error;

const PROTOS: &str = "protos"; // cargo starts this program in the folder of the package
const FILES: [&str; 5] = ["game", "play", "rating", "server", "tournament"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTOS}/arbiter");
    let files = FILES.map(|name| format!("arbiter/v1/{name}.proto"));
    let descriptors = protox::compile(files, [PROTOS])?;
    tonic_prost_build::configure()
        // A newer protocol may have more of each: whoever tells them apart has an arm for the rest.
        .enum_attribute(".", "#[non_exhaustive]")
        // Servers, too, for tests: they answer UNIMPLEMENTED to what they leave out.
        .generate_default_stubs(true)
        .compile_fds(descriptors)?;
    Ok(())
}
