package serde_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/vmihailenco/msgpack/v5"
)

// Types that tests of several files encode.

type order struct {
	ID       string
	Customer string
	Amount   float64
	Items    int
	Placed   int64
	Paid     bool
}

var anOrder = order{ID: "o-1001", Customer: "alice", Amount: 12.5, Items: 3, Placed: 1_700_000_000_123, Paid: true}

// mixed has a field of most kinds that come back whole.
type mixed struct {
	Int8     int8
	Uint64   uint64
	Float32  float32
	Bytes    []byte
	Hash     [4]byte
	Names    []string
	Labels   map[string]string
	Ptr      *order
	Orders   []order
	At       time.Time
	Times    map[string]time.Time
	Maybe    *time.Time
	Wait     time.Duration
	UUID     uuid.UUID
	Addr     netip.Addr
	Big      *big.Int
	Pair     [2]int32
	Grade    grade
	Next     *mixed `msgpack:"next,omitempty"`
	embedded        // its exported fields are written
}

type embedded struct{ Inner string }

type grade int16

// ownCodec encodes itself as tinylib/msgp's generated code would: methods of the pointer.
type ownCodec struct {
	hits uint32 // unexported: reflection could not bring it back
	name string
}

func (o *ownCodec) MarshalMsg(b []byte) ([]byte, error) {
	if o.name == "bad" {
		return b, errors.New("bad name")
	}
	b = append(b, 0x92, 0xce)
	b = binary.BigEndian.AppendUint32(b, o.hits)
	b = append(b, 0xd9, byte(len(o.name)))
	return append(b, o.name...), nil
}

func (o *ownCodec) UnmarshalMsg(b []byte) ([]byte, error) {
	if b[0] != 0x92 || b[1] != 0xce || b[6] != 0xd9 { // panics if b is short: so do careless codecs
		return b, fmt.Errorf("no ownCodec: % x", b)
	}
	o.hits = binary.BigEndian.Uint32(b[2:])
	n := int(b[7])
	if n > 0 { // generated code does not set what is missing
		o.name = string(b[8 : 8+n])
	}
	return b[8+n:], nil
}

// custom encodes itself inside msgpack.
type custom struct{ secret int64 }

func (c custom) EncodeMsgpack(e *msgpack.Encoder) error {
	e.UseArrayEncodedStructs(true) // a type may leave the encoder changed
	e.SetOmitEmpty(true)
	return e.EncodeInt(c.secret)
}

func (c *custom) DecodeMsgpack(d *msgpack.Decoder) (err error) {
	c.secret, err = d.DecodeInt64()
	return err
}
