// Package stream builds stream-processing topologies out of typed, chainable
// operators, and runs them against Kafka.
//
// A Topology is described by values: sources make a Stream, methods derive one
// from another, and To ends a chain at a topic. Nothing runs until Build has
// checked the whole description.
//
// Everything durable is named by the user: an operator that owns state or a
// repartition topic takes a name first. Renaming one abandons its state; adding
// an operator elsewhere never moves it.
//
// Functions given to operators are shared by all tasks and called from several
// goroutines at once. They may be called again for the same record, when a
// transaction fails; what they do outside Kafka happens again with them.
package stream
