//! What the environment says.

/// Returns a variable of the environment that is set to something.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
