//! What is refused of the settings of keys' records: what could not work together.

use nevertwice_api::Level;

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
        let is_shared = matches!(self.keys_store, KeysStore::Redis(_));
        refuse(
            is_shared && self.keys_secret_file.is_none(),
            "`keys_store` names a server, so `keys_secret_file` must name the file with the secret: the same for all who share the keys",
        );
        refuse(
            !is_shared && (self.keys_level != Level::Decided || self.keys_replicas > 0 || self.keys_fsync_vouched),
            "`keys_level`, `keys_replicas` and `keys_fsync_vouched` are about a Redis server, and `keys_store` names none",
        );
        refuse(
            is_shared && (self.keys_replicas > 64 || !(1..=self.answer_deadline_ms).contains(&self.keys_replicas_wait_ms)),
            "`keys_replicas` must be at most 64, and `keys_replicas_wait_ms` from 1 to `answer_deadline_ms`",
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
