//! What is refused of the settings of keys' records: what could not work together.

use super::{Config, KeysStore};

impl Config {
    pub(super) fn check_key_records(&self, wrong: &mut Vec<String>) {
        let mut refuse = |is_wrong: bool, text: &str| {
            if is_wrong {
                wrong.push(text.to_owned());
            }
        };
        refuse(
            self.keys_store == KeysStore::Local && self.keys_secret_file.is_none() && self.data.file_name().is_none(),
            "`data` has no name to put `-keys.key` behind, so `keys_secret_file` must say where that file is",
        );
        refuse(
            self.keys_store == KeysStore::Memory && self.keys_previous_secret_file.is_some(),
            "`keys_previous_secret_file` is for keys that outlive the process, and `keys_store` is `memory`",
        );
        refuse(
            self.keys_lease_ms_max >= self.keys_retention_ms,
            "`keys_lease_ms_max` must be shorter than `keys_retention_ms`: a claim must not outlive the memory of its key",
        );
        refuse(
            self.keys_lease_ms > self.keys_lease_ms_max,
            "`keys_lease_ms` must be at most `keys_lease_ms_max`: it is what is asked for where nobody says",
        );
        refuse(
            self.keys_answer_bytes_max > self.keys_answers_bytes_max,
            "`keys_answer_bytes_max` must be at most `keys_answers_bytes_max`: one answer would be more than all together",
        );
    }
}
