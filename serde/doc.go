// Package serde turns typed keys and values into bytes and back.
//
// A topic names a serde for its keys and one for its values; state and internal topics use [Default] unless the program chose
// another. The built-ins write what Kafka's own serializers write, so that Java clients can read the topics:
//
//	String, Bytes, Bool, Int32, Int64, Float64, UUID   Kafka's String, ByteArray, Boolean, Integer, Long, Double, UUID
//	Time                                               a Long of milliseconds since the epoch
//	TimeWindowed, Windowed                             Kafka Streams' time-windowed and session-windowed keys
//
// Structs travel as [MsgPack] by default, or as [JSON] or [Protobuf].
//
// # What a serde promises
//
// Decode refuses bytes that are not exactly one value: missing and trailing bytes are errors that name the type and the sizes.
// It does not panic and keeps no part of what it was given. Append adds to the slice it is given and touches nothing before
// its end; when it fails it returns the slice as it was. All serdes here may be used by several goroutines at once.
//
// Null is not a serde's business: a record without a value is a tombstone and never reaches Decode.
package serde
