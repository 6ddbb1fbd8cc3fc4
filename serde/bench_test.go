package serde_test

import (
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirstream/weir/serde"
)

func BenchmarkEncode(b *testing.B) {
	encode(b, "string", serde.String, "customer-1001")
	encode(b, "int64", serde.Int64, 1<<40)
	encode(b, "uuid", serde.UUID, uuid.UUID{1, 2, 3})
	encode(b, "windowed", serde.Windowed(serde.String), windowKey("customer-1001", 0, 60_000))
	encode(b, "msgpack", serde.MsgPack[order](), anOrder)
	encode(b, "msgpack-array", serde.MsgPack[order](serde.AsArray()), anOrder)
	encode(b, "msgpack-own", serde.MsgPack[ownCodec](), ownCodec{7, "alice"})
	encode(b, "msgpack-mixed", serde.MsgPack[mixed](), aMixed())
	encode(b, "json", serde.JSON[order](), anOrder)
	encode(b, "protobuf", serde.Protobuf[*wrapperspb.StringValue](), wrapperspb.String("customer-1001"))
}

func BenchmarkDecode(b *testing.B) {
	decode(b, "string", serde.String, "customer-1001")
	decode(b, "int64", serde.Int64, 1<<40)
	decode(b, "uuid", serde.UUID, uuid.UUID{1, 2, 3})
	decode(b, "windowed", serde.Windowed(serde.String), windowKey("customer-1001", 0, 60_000))
	decode(b, "msgpack", serde.MsgPack[order](), anOrder)
	decode(b, "msgpack-array", serde.MsgPack[order](serde.AsArray()), anOrder)
	decode(b, "msgpack-own", serde.MsgPack[ownCodec](), ownCodec{7, "alice"})
	decode(b, "msgpack-mixed", serde.MsgPack[mixed](), aMixed())
	decode(b, "json", serde.JSON[order](), anOrder)
	decode(b, "protobuf", serde.Protobuf[*wrapperspb.StringValue](), wrapperspb.String("customer-1001"))
}

func encode[T any](b *testing.B, name string, s serde.Serde[T], v T) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		dst := make([]byte, 0, 4096)
		for b.Loop() {
			var err error
			if dst, err = s.Append(dst[:0], v); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(dst)), "bytes")
	})
}

func decode[T any](b *testing.B, name string, s serde.Serde[T], v T) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		data, err := s.Append(nil, v)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
