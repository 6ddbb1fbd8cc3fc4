package flow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The values are those of Kafka's UtilsTest and of its clients.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		require.Equal(t, want, int32(murmur2([]byte(key))), key)
	}
	require.EqualValues(t, 2, Murmur2.Place([]byte("foobar"), 4), "0x7fffffff & -790332482 = 1357151166")
	require.EqualValues(t, 0xcbf43926%7, CRC32.Place([]byte("123456789"), 7), "the check value of CRC-32")
}
