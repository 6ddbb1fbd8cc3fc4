// Package assign decides which worker of a Weir group runs which task, and carries that decision over Kafka's classic group
// protocol as a cooperative kgo.GroupBalancer.
//
// # Vocabulary
//
// A task is one sub-topology on one partition number; its partitions are given and withheld together. A member is one worker's
// group member; members of one process share an instance, and with it local state. A claim is a task that a member names as its
// own when it joins. A plan is made by the group's leader, once per generation, from all members' claims.
//
// # Moving a task takes two generations
//
// A plan never hands a task to a member while another may still be running it. It withholds the task from everybody instead: the
// owner's assignment lacks it, so its client revokes the partitions and rejoins, and the plan of that next generation finds the
// task without an owner and hands it on.
//
// # Which claims count
//
// Kafka fences commits by member and generation, never by ownership. A claim is therefore worth believing only if no plan was made
// without it since it was last granted; otherwise a plan in between may have given the task to another member, who has since
// committed and perhaps left. Generations count up by one per completed join, so the rule is exact: a member sends the newest
// generation up to which it has taken part in every one (its chain), and in the plan for generation g only claims of g-1 count.
//
//   - One such claim: the claimant keeps the task, unless balance asks it to give the task up.
//   - Several such claims: there is no telling who is right, and letting one go on while the other has not stopped yet would be
//     two owners. The task is withheld from all; everybody revokes and rejoins, and the next plan has no claim left.
//   - Only older claims: the claimant missed a generation. Its work since is worthless (MayCommit refuses it), but its client
//     would not notice a hand-back: same partitions, no revoke, fetching on from a stale position. So the task is withheld once,
//     the claimant revokes it, and whoever gets it next starts from the committed offset.
//   - An older claim beside a valid one changes nothing: the holder of the valid one keeps the task, the other loses it.
//
// The same chain tells a worker whether it may commit: see Ownership.MayCommit.
//
// # One topology at a time
//
// Members send a fingerprint of their topology. A running group keeps the topology of those who hold tasks; a starting group takes
// its leader's. Members of another one get no tasks and a refusal in their assignment, which ParseSyncAssignment returns as a
// *TopologyError: a rolling upgrade that changes the topology fails loudly in the new instances and leaves the old ones running. If
// the leader itself is of the wrong topology it cannot plan for the others; it lets them keep what they hold and refuses itself.
package assign
