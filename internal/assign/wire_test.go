package assign

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func someMember() memberData {
	return memberData{
		instance: "host-1", fingerprint: "2 sub-topologies", generation: 41, attempt: 3,
		owned:      []Task{{0, 1}, {0, 300}, {7, 0}},
		warm:       []WarmTask{{Task{0, 1}, 1 << 40}, {Task{2, 2}, 0}},
		partitions: map[string][]int32{"clicks": {1, 300}, "orders": {0}},
	}
}

func someShare() shareData {
	return shareData{
		generation: 42, fingerprint: "2 sub-topologies", tasks: []Task{{0, 1}, {7, 0}}, release: []Task{{0, 300}}, rejoin: true,
		partitions: map[string][]int32{"clicks": {1}, "orders": {0}},
	}
}

func TestWireRoundTrip(t *testing.T) {
	for _, want := range []memberData{someMember(), {generation: -1, partitions: map[string][]int32{}}} {
		metadata := want.encode([]string{"clicks", "orders"})
		got, err := parseMember(metadata)
		require.NoError(t, err)
		require.Equal(t, want, got)
		var meta kmsg.ConsumerMemberMetadata
		require.NoError(t, meta.ReadFrom(metadata))
		require.Equal(t, []string{"clicks", "orders"}, meta.Topics, "brokers keep the offsets of topics that members subscribe to")
	}
	for _, want := range []shareData{someShare(), {verdict: wrongTopology, partitions: map[string][]int32{}}} {
		got, err := parseShare(want.encode())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestWireSections has a later version of this one add facts that this one does not know.
func TestWireSections(t *testing.T) {
	var meta kmsg.ConsumerMemberMetadata
	require.NoError(t, meta.ReadFrom(someMember().encode(nil)))
	known := meta.UserData[:len(meta.UserData)-1]
	for sections, ok := range map[string]bool{
		"\x00":                     true,
		"\x01\x05\x03abc":          true,
		"\x02\x05\x03abc\x06\x00":  true,
		"\x02\x05\x03abc\x05\x00":  false, // twice the same
		"\x01\x05\x04abc":          false, // cut off
		"\x01\x05\x03abcd":         false, // bytes left over
		"\x01\x05\x83\x00abc":      false, // a number in two ways
		"\xff\xff\xff\xff\xff\x01": false,
	} {
		meta.UserData = append(bytes.Clone(known), sections...)
		got, err := parseMember(meta.AppendTo(nil))
		require.Equal(t, ok, err == nil, "%q: %v", sections, err)
		if ok {
			require.Equal(t, someMember(), got)
		}
	}
}

func TestWireRefuses(t *testing.T) {
	header := string(encodeHeader())
	for name, userData := range map[string]string{
		"nothing":          "",
		"another program":  "\x00\x01",
		"another version":  "W\x02",
		"cut off":          header + "\x03ab",
		"unsorted tasks":   header + "\x00\x00\x00\x00\x02\x00\x01\x00\x00\x00\x00",
		"doubled tasks":    header + "\x00\x00\x00\x00\x02\x00\x01\x00\x01\x00\x00",
		"too many tasks":   header + "\x00\x00\x00\x00\xff\xff\xff\xff\x07",
		"task too large":   header + "\x00\x00\x00\x00\x01\xff\xff\xff\xff\x0f\x00\x00\x00",
		"number too large": header + "\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
	} {
		meta := kmsg.NewConsumerMemberMetadata()
		meta.UserData = []byte(userData)
		_, err := parseMember(meta.AppendTo(nil))
		require.ErrorIs(t, err, errWire, name)
		assignment := kmsg.NewConsumerMemberAssignment()
		assignment.UserData = []byte(userData)
		_, err = parseShare(assignment.AppendTo(nil))
		require.ErrorIs(t, err, errWire, name)
	}
	_, err := parseMember([]byte{1})
	require.Error(t, err)
	_, err = parseShare(nil)
	require.Error(t, err)
}

func TestSortedWarm(t *testing.T) {
	require.Equal(t, []WarmTask{{Task{0, 1}, 9}, {Task{1, 0}, 0}},
		sortedWarm([]WarmTask{{Task{1, 0}, 0}, {Task{0, 1}, 4}, {Task{0, 1}, 9}, {Task{0, 2}, -1}, {Task{-1, 2}, 5}}))
}

// FuzzParse holds the parsers to: no panic, and what is taken is what encoding would write.
func FuzzParse(f *testing.F) {
	meta, assignment := kmsg.NewConsumerMemberMetadata(), kmsg.NewConsumerMemberAssignment()
	if meta.ReadFrom(someMember().encode(nil)) != nil || assignment.ReadFrom(someShare().encode()) != nil {
		f.Fatal("seeds do not parse")
	}
	f.Add(meta.UserData)
	f.Add(assignment.UserData)
	f.Add(meta.UserData[:9])
	f.Fuzz(func(t *testing.T, userData []byte) {
		_, _ = parseMember(userData)
		_, _ = parseShare(userData)
		m := kmsg.NewConsumerMemberMetadata()
		m.UserData = userData
		if d, err := parseMember(m.AppendTo(nil)); err == nil {
			again, err := parseMember(d.encode(nil))
			require.NoError(t, err)
			require.Equal(t, d, again)
		}
		a := kmsg.NewConsumerMemberAssignment()
		a.UserData = userData
		if d, err := parseShare(a.AppendTo(nil)); err == nil {
			again, err := parseShare(d.encode())
			require.NoError(t, err)
			require.Equal(t, d, again)
		}
	})
}
