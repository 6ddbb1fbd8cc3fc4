package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say where and how large a DB is.
type Options struct {
	Dir         string       // the database's own folder
	FS          vfs.FS       // the real file system unless set
	MemoryLimit int64        // bytes, over block cache and memtables; 128 MiB unless set
	Logger      *slog.Logger // slog.Default unless set
}

// A DB is the state of one instance: one Pebble database, in which each store
// and partition owns a range of keys. It is safe for concurrent use.
type DB struct {
	pebble *pebble.DB
	cache  *pebble.Cache

	mu     sync.Mutex
	leases map[string]*Partition // by prefix
	stores map[string]storeMeta
}

// ErrLeased is returned for a partition that another task of this instance
// still owns.
var ErrLeased = errors.New("the partition's state is still in use by another task of this instance")

const defaultMemory = 128 << 20

// Open opens the database, or creates it. It fails when another process has it
// open, or when its files do not belong to a version this one can read.
func Open(o Options) (*DB, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MemoryLimit <= 0 {
		o.MemoryLimit = defaultMemory
	}
	memtable := min(max(o.MemoryLimit/16, 256<<10), 16<<20)
	// Memtables are reserved out of the block cache: a cache no larger than
	// they are would leave no room for blocks, and each look-up would read and
	// decompress anew.
	cache := pebble.NewCache(max(o.MemoryLimit, 5*memtable))
	opts := &pebble.Options{
		FS:                          o.FS,
		Cache:                       cache,
		DisableWAL:                  true,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                uint64(memtable),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		Logger:                      pebbleLogger{o.Logger},
		MaxOpenFiles:                1000,
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	dir := o.FS.PathJoin(o.Dir, "pebble")
	db, err := pebble.Open(dir, opts)
	if err != nil {
		cache.Unref()
		if isInUse(dir, o.FS) {
			err = fmt.Errorf("%w; is it in use by another process? Each needs a directory of its own", err)
		}
		return nil, fmt.Errorf("state directory %s: cannot open the database: %w", o.Dir, err)
	}
	d := &DB{pebble: db, cache: cache, leases: map[string]*Partition{}}
	if d.stores, err = readStores(db); err != nil {
		return nil, errors.Join(fmt.Errorf("state directory %s: %w", o.Dir, err), d.Close())
	}
	return d, nil
}

// isInUse reports whether someone else has the database open.
func isInUse(dir string, fs vfs.FS) bool {
	if _, err := fs.Stat(dir); err != nil {
		return false
	}
	lock, err := pebble.LockDirectory(dir, fs)
	return err != nil || lock.Close() != nil
}

// Checkpoint makes everything written so far survive the end of the process.
func (d *DB) Checkpoint() error { return d.pebble.Flush() }

// Close releases all leases, flushes and closes the database. No store may be
// in use.
func (d *DB) Close() error {
	d.mu.Lock()
	leased := slices.Collect(maps.Values(d.leases))
	d.mu.Unlock()
	for _, p := range leased {
		p.Release()
	}
	err := errors.Join(d.pebble.Flush(), d.pebble.Close())
	d.cache.Unref()
	return err
}

// Metrics returns Pebble's own metrics as a table for people.
func (d *DB) Metrics() string { return d.pebble.Metrics().String() }

// DiskBytes is the size of the database's files in bytes.
func (d *DB) DiskBytes() uint64 { return d.pebble.Metrics().DiskSpaceUsage() }

// Lease returns the partition of a store, for one owner at a time. It fails
// with ErrLeased while another has it, and when the store's description does
// not fit what the database holds.
func (d *DB) Lease(desc Descriptor, partition int32) (*Partition, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, err := d.storeID(desc)
	if err != nil {
		return nil, err
	}
	prefix := rangePrefix(id, partition)
	if d.leases[string(prefix)] != nil {
		return nil, fmt.Errorf("store %s, partition %d: %w", desc.Name, partition, ErrLeased)
	}
	p := &Partition{db: d, prefix: prefix, name: desc.Name, number: partition, held: true}
	d.leases[string(prefix)] = p
	return p, nil
}

func (d *DB) release(prefix []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.leases, string(prefix))
}

// rangePrefix begins every key of one store and partition.
func rangePrefix(id uint16, partition int32) []byte {
	b := binary.BigEndian.AppendUint16([]byte{'d'}, id)
	return binary.BigEndian.AppendUint32(b, uint32(partition))
}

type pebbleLogger struct{ l *slog.Logger }

func (p pebbleLogger) Infof(format string, args ...any)  { p.l.Debug(fmt.Sprintf(format, args...)) }
func (p pebbleLogger) Errorf(format string, args ...any) { p.l.Error(fmt.Sprintf(format, args...)) }

// Fatalf is called by Pebble where going on could lose data.
func (p pebbleLogger) Fatalf(format string, args ...any) {
	p.l.Error(fmt.Sprintf(format, args...))
	panic("pebble: " + fmt.Sprintf(format, args...))
}
