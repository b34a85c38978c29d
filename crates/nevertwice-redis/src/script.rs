//! Scripts: what they are made of, what they are called with, and how their replies are read.
//!
//! A script is the text of `lua/NAME.lua`, in which each line `-- include NAME` is replaced by the text of `lua/lib/NAME.lua`. It is
//! addressed by the SHA-1 of the whole, so old and new ones live beside each other during a deployment. What a script takes is declared
//! once, by `script!`, in the order and by the names of its header; a test compares the two.

use std::sync::OnceLock;

use data_encoding::HEXLOWER;
use sha1::{Digest as _, Sha1};

use crate::lua;

/// One Lua script.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    source: &'static str,
    keys: &'static [&'static str],
    args: &'static [&'static str],
    built: OnceLock<Built>,
}

#[derive(Debug)]
struct Built {
    text: String,
    sha: String,
}

impl Script {
    /// The script of that name, whose header declares these keys and arguments.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static str, keys: &'static [&'static str], args: &'static [&'static str]) -> Self {
        Self { name, source, keys, args, built: OnceLock::new() }
    }

    /// Its name, as metrics show it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its text as it is sent.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.built().text
    }

    /// The SHA-1 of the text, in hexadecimal: the name under which the server knows it.
    #[must_use]
    pub fn sha(&self) -> &str {
        &self.built().sha
    }

    /// The names of its keys, in order.
    #[must_use]
    pub const fn keys(&self) -> &'static [&'static str] {
        self.keys
    }

    /// The names of its arguments, in order.
    #[must_use]
    pub const fn args(&self) -> &'static [&'static str] {
        self.args
    }

    fn built(&self) -> &Built {
        self.built.get_or_init(|| {
            let text = lua::with_includes(self.source);
            let sha = HEXLOWER.encode(&Sha1::digest(text.as_bytes()));
            Built { text, sha }
        })
    }
}

/// A script with what it is called with.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which script.
    pub script: &'static Script,
    /// Its keys, in order.
    pub keys: Vec<Vec<u8>>,
    /// Its arguments, in order.
    pub args: Vec<Vec<u8>>,
}

impl Call {
    /// The call by hash.
    #[must_use]
    pub fn by_hash(&self) -> redis::Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(self.script.sha()).arg(self.keys.len()).arg(&self.keys).arg(&self.args);
        command
    }
}

/// What can be an argument of a script.
pub trait Argument {
    /// Its bytes, as Lua gets them.
    fn bytes(self) -> Vec<u8>;
}

impl Argument for i64 {
    fn bytes(self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

impl Argument for u64 {
    fn bytes(self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

impl Argument for u32 {
    fn bytes(self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

/// `1` or `0`.
impl Argument for bool {
    fn bytes(self) -> Vec<u8> {
        i64::from(self).bytes()
    }
}

/// The empty text stands for none.
impl<T: Argument> Argument for Option<T> {
    fn bytes(self) -> Vec<u8> {
        self.map_or_else(Vec::new, T::bytes)
    }
}

impl Argument for [u8; 32] {
    fn bytes(self) -> Vec<u8> {
        self.to_vec()
    }
}

impl Argument for &str {
    fn bytes(self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Argument for &[u8] {
    fn bytes(self) -> Vec<u8> {
        self.to_vec()
    }
}

impl Argument for Vec<u8> {
    fn bytes(self) -> Vec<u8> {
        self
    }
}

/// Declares a script: a static of the given name, and a struct with one member for each key and argument, in the order of the
/// script's header. `rest` is a list of further arguments, for scripts that take any number of them.
macro_rules! script {
    (
        $(#[$meta:meta])*
        $vis:vis struct $call:ident, static $script:ident = $name:literal;
        keys { $($key:ident),* $(,)? }
        args { $($arg:ident: $ty:ty),* $(,)? }
        $(rest $rest:ident;)?
    ) => {
        $vis static $script: $crate::script::Script = $crate::script::Script::new(
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/lua/", $name, ".lua")),
            &[$(stringify!($key)),*],
            &[$(stringify!($arg),)* $(concat!(stringify!($rest), "..."))?],
        );

        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $call {
            $($vis $key: Vec<u8>,)*
            $($vis $arg: $ty,)*
            $($vis $rest: Vec<Vec<u8>>,)?
        }

        impl From<$call> for $crate::script::Call {
            fn from(call: $call) -> Self {
                let keys = vec![$(call.$key),*];
                #[allow(unused_mut, reason = "only a list of further arguments changes it")]
                let mut args: Vec<Vec<u8>> = vec![$($crate::script::Argument::bytes(call.$arg)),*];
                $(args.extend(call.$rest);)?
                Self { script: &$script, keys, args }
            }
        }
    };
}

pub(crate) use script;
