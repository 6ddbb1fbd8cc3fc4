package serde

import (
	"encoding/binary"
	"math"
)

// Int32 is the serde of int32: four bytes, big-endian, Kafka's Integer serde.
var Int32 int32Serde

type int32Serde struct{}

func (int32Serde) Append(dst []byte, v int32) ([]byte, error) {
	return binary.BigEndian.AppendUint32(dst, uint32(v)), nil
}

func (int32Serde) Decode(src []byte) (int32, error) {
	if len(src) != 4 {
		return 0, sizeError("int32", len(src), 4)
	}
	return int32(binary.BigEndian.Uint32(src)), nil
}

func (int32Serde) Describe() string { return "int32" }
func (int32Serde) canonical() bool  { return true }

// Int64 is the serde of int64: eight bytes, big-endian, Kafka's Long serde. Its order of bytes is the order of the numbers only
// among numbers of one sign.
var Int64 int64Serde

type int64Serde struct{}

func (int64Serde) Append(dst []byte, v int64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(v)), nil
}

func (int64Serde) Decode(src []byte) (int64, error) {
	if len(src) != 8 {
		return 0, sizeError("int64", len(src), 8)
	}
	return int64(binary.BigEndian.Uint64(src)), nil
}

func (int64Serde) Describe() string { return "int64" }
func (int64Serde) canonical() bool  { return true }

// Float64 is the serde of float64: eight bytes of IEEE 754, big-endian, Kafka's Double serde. All NaNs are written as the one
// that Java writes. As keys, 0 and -0 are two keys.
var Float64 float64Serde

type float64Serde struct{}

// javaNaN is what Java's doubleToLongBits returns for every NaN; Go's math.NaN has another bit pattern.
const javaNaN = 0x7ff8000000000000

func (float64Serde) Append(dst []byte, v float64) ([]byte, error) {
	bits := math.Float64bits(v)
	if v != v {
		bits = javaNaN
	}
	return binary.BigEndian.AppendUint64(dst, bits), nil
}

func (float64Serde) Decode(src []byte) (float64, error) {
	if len(src) != 8 {
		return 0, sizeError("float64", len(src), 8)
	}
	return math.Float64frombits(binary.BigEndian.Uint64(src)), nil
}

func (float64Serde) Describe() string { return "float64" }
