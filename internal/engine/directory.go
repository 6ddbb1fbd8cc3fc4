package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"github.com/weirstream/weir/internal/client"
)

// A directory is the state directory of an instance: locked while it runs, and
// the keeper of its identity.
type directory struct {
	path   string
	fs     vfs.FS
	lock   io.Closer
	record record

	opening chan struct{}
	catalog *client.Catalog
}

// A record is what instance.json holds.
type record struct {
	Instance string `json:"instance"` // the instance id
	Workers  int    `json:"workers"`  // the most workers that it ever had: as many transactional ids were used
}

// concurrentOpens is how many tasks of an instance are opened, and so restored,
// at a time.
const concurrentOpens = 4

// openDirectory locks the directory, and reads or makes the instance id. An
// instance without a directory has a new id each time.
func openDirectory(fs vfs.FS, path, instance string, workers int) (*directory, error) {
	d := &directory{path: path, fs: fs, record: record{Instance: instance}, opening: make(chan struct{}, concurrentOpens)}
	if fs == nil {
		d.fs = vfs.Default
	}
	if path == "" {
		if instance == "" {
			d.record.Instance = uuid.NewString()
		}
		d.record.Workers = workers
		return d, nil
	}
	if err := d.fs.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, err)
	}
	lock, err := d.fs.Lock(filepath.Join(path, "lock"))
	if err != nil {
		return nil, fmt.Errorf("state directory %s is in use by another process; each instance needs its own: %w", path, err)
	}
	d.lock = lock
	if err := d.identify(instance, workers); err != nil {
		return nil, errors.Join(fmt.Errorf("state directory %s: %w", path, err), lock.Close())
	}
	return d, nil
}

func (d *directory) identify(instance string, workers int) error {
	name := filepath.Join(d.path, "instance.json")
	var kept record
	f, err := d.fs.Open(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := json.Unmarshal(b, &kept); err != nil {
			return fmt.Errorf("instance.json: %w", err)
		}
	}
	switch {
	case instance == "" && kept.Instance == "":
		kept.Instance = uuid.NewString()
	case instance != "" && kept.Instance != instance:
		kept = record{Instance: instance}
	}
	kept.Workers = max(kept.Workers, workers)
	d.record = kept
	return d.save(name)
}

// save replaces instance.json as a whole.
func (d *directory) save(name string) error {
	b, err := json.MarshalIndent(d.record, "", "  ")
	if err != nil {
		return err
	}
	f, err := d.fs.Create(name+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return d.fs.Rename(name+".new", name)
}

func (d *directory) close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}
