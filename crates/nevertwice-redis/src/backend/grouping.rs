//! Which commands of a turn one script decides together.

use std::collections::HashMap;

use nevertwice_api::Request;
use nevertwice_core::{Action, ShardId};

use crate::shard::ORDERS_MAX;

/// The places of the commands that one call decides, in the order in which they came.
pub(super) type Group = Vec<usize>;

/// Orders of one market go together, unless another command for it came between: a shard's commands keep their order, and those of
/// different shards have none.
pub(super) fn grouped(requests: &[&Request]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut growing: HashMap<&ShardId, usize> = HashMap::new();
    for (place, request) in requests.iter().enumerate() {
        let is_order = matches!(request.command.action, Action::PlaceOrder(_));
        let open = growing.get(&request.shard).copied().filter(|group| is_order && groups[*group].len() < ORDERS_MAX);
        match open {
            Some(group) => groups[group].push(place),
            None => {
                groups.push(vec![place]);
                if is_order {
                    growing.insert(&request.shard, groups.len() - 1);
                } else {
                    growing.remove(&request.shard);
                }
            }
        }
    }
    groups
}
