//! Methods that return a struct with one field changed: structs that may get more fields are not written out by users.

/// Writes `with_NAME(value)` for fields of a struct: `one` for what a value turns into (of an `Option`, what is in it),
/// `many` for lists, whose items the values turn into.
macro_rules! with_fields {
    ($type:ty { $(one $one:ident $field:ident: $value:ty;)* $(many $many:ident $list:ident: $item:ty;)* }) => {
        impl $type {
            $(
                #[doc = concat!("Returns it with this `", stringify!($field), "`.")]
                #[must_use]
                pub fn $one(mut self, $field: impl Into<$value>) -> Self {
                    let value: $value = $field.into();
                    self.$field = value.into();
                    self
                }
            )*
            $(
                #[doc = concat!("Returns it with these `", stringify!($list), "`.")]
                #[must_use]
                pub fn $many(mut self, $list: impl IntoIterator<Item = impl Into<$item>>) -> Self {
                    self.$list = $list.into_iter().map(Into::into).collect();
                    self
                }
            )*
        }
    };
}
