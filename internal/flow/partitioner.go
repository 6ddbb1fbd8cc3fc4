package flow

import "hash/crc32"

// A Partitioner places keys on the partitions of a topic.
type Partitioner uint8

// The partitioners.
const (
	Murmur2 Partitioner = iota // Java clients and franz-go
	CRC32                      // librdkafka and the clients built on it
)

// Place returns the partition of n for an encoded key.
func (p Partitioner) Place(key []byte, n int32) int32 {
	if p == CRC32 {
		return int32(crc32.ChecksumIEEE(key) % uint32(n))
	}
	return int32(murmur2(key)&0x7fffffff) % n
}

// murmur2 is MurmurHash2 with the seed that Kafka's clients use
// (org.apache.kafka.common.utils.Utils.murmur2).
func murmur2(b []byte) uint32 {
	const (
		seed uint32 = 0x9747b28c
		m    uint32 = 0x5bd1e995
		r           = 24
	)
	h := seed ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> r
		k *= m
		h = h*m ^ k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
