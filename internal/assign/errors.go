package assign

import "fmt"

// A TopologyError says that this instance's topology is not the one that its group runs.
type TopologyError struct {
	Own   string // this instance's Fingerprint
	Group string // the group's
	// Refused says that the group's leader, seeing this instance's topology, turned it down: the worker must stop and leave the
	// group. Otherwise the broker has only replayed a stored assignment to a static member that came back with a new topology; the
	// client joins again by itself, and the leader's answer decides.
	Refused bool
}

func (e *TopologyError) Error() string {
	return fmt.Sprintf("assign: the group runs another topology (%s) than this instance (%s): stop every instance before starting a "+
		"changed topology, or give it an application id of its own", e.Group, e.Own)
}
