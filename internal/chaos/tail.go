package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirstream/weir/state"
)

// A tail is what an instance's state lacked at a kill, in offsets of changelogs.
type tail struct {
	recent int64 // committed within the checkpoint age before the kill
	old    int64 // committed before
	missed int64 // of those, after the recorded positions
}

// A clone is a copy of the state that a kill left behind.
type clone struct {
	dir     string
	process string
	ends    kadm.ListedOffsets // of committed records in the changelogs, at the kill
}

// maxAudits is how many clones are kept for the audit.
const maxAudits = 6

var errNoState = errors.New("there is no state")

// slack is what a kill may be later than the parent's clock says, and a flush than its ticker.
const slack = time.Second

// inspect copies the state of a dead instance and compares its positions with where the changelogs ended.
func (g *rig) inspect(s *instance, k killed) (*tail, clone, error) {
	c := clone{dir: filepath.Join(g.dir, "clone-"+s.process.name), process: s.process.name, ends: k.ends}
	if err := copyState(s.dir, c.dir); err != nil {
		return nil, c, err
	}
	positions, err := positionsOf(c.dir)
	if err != nil {
		return nil, c, err
	}
	ends, ok1 := g.view.endsAt(k.at)
	aged, ok2 := g.view.endsAt(k.at.Add(-g.age - slack))
	if !ok1 || !ok2 {
		return nil, c, nil
	}
	t := &tail{}
	for id := range k.tasks {
		var task struct{ Sub, Partition int32 }
		if json.Unmarshal([]byte(id), &task) != nil || task.Sub != storesSub {
			continue
		}
		for _, d := range stores {
			end, _ := ends.Lookup(d.Changelog, task.Partition)
			old, _ := aged.Lookup(d.Changelog, task.Partition)
			at := positions[place{d.Name, task.Partition}]
			t.recent += max(end.Offset-old.Offset, 0)
			t.old += old.Offset
			t.missed += max(old.Offset-at, 0)
		}
	}
	return t, c, nil
}

// A place is a partition of a store or a topic.
type place struct {
	name      string
	partition int32
}

// copyState copies a state directory as a crash left it: tables, which never change, as links.
func copyState(from, to string) error {
	source := filepath.Join(from, "pebble")
	files, err := os.ReadDir(source)
	if errors.Is(err, os.ErrNotExist) {
		return errNoState
	} else if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(to, "pebble"), 0o755); err != nil {
		return err
	}
	for _, f := range files {
		src, dst := filepath.Join(source, f.Name()), filepath.Join(to, "pebble", f.Name())
		if strings.HasSuffix(f.Name(), ".sst") {
			err = os.Link(src, dst)
		} else {
			err = copyFile(src, dst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// openState opens a state directory that no process uses.
func openState(dir string) (*state.DB, error) {
	return state.Open(state.Options{Dir: dir, MemoryLimit: 16 << 20, Logger: slog.New(slog.DiscardHandler)})
}

// positionsOf returns the recorded changelog positions.
func positionsOf(dir string) (at map[place]int64, err error) {
	db, err := openState(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ranges, err := db.Ranges()
	if err != nil {
		return nil, fmt.Errorf("state %s: %w", dir, err)
	}
	at = map[place]int64{}
	for _, r := range ranges {
		at[place{r.Store, r.Partition}] = r.Position.Offset
	}
	return at, nil
}
